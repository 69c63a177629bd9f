package page

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"sm/observer/api"
	"sm/observer/wire"
)

// fact is one line about an agent.
type fact struct {
	Name, Value, Stamp string
	Copy               bool // with a button that copies Value
}

// facts are lines about an agent; those without a value are left out.
type facts struct {
	list []fact
	zone *time.Location
}

func (f *facts) add(name, value string) {
	if value != "" {
		f.list = append(f.list, fact{Name: name, Value: tame(value)})
	}
}

// addCopied adds a value with a button, unless it is not shown as it is.
func (f *facts) addCopied(name, value string) {
	if value != "" {
		f.list = append(f.list, fact{Name: name, Value: tame(value), Copy: tame(value) == value})
	}
}

func (f *facts) addTime(name string, at int64) {
	if at > 0 {
		f.list = append(f.list, fact{Name: name, Value: clock(at, f.zone), Stamp: stamp(at)})
	}
}

// factsOf returns what is known of an agent besides its row.
func factsOf(d *wire.Detail, zone *time.Location) []fact {
	s := &d.Session
	f := facts{zone: zone}
	f.addCopied("Agent", s.ID)
	f.addCopied("Session", s.SessionID)
	f.add("Parent", s.ParentID)
	f.addCopied("Directory", s.CWD)
	f.addCopied("Transcript", s.TranscriptPath)
	f.add("Model", s.Model)
	f.add("Client", s.Version)
	f.add("Window", Short(s.WindowTokens)+", by "+s.WindowSource)
	if s.ThresholdTokens != nil {
		f.add("Compacts", CompactsAt(*s.ThresholdTokens, s.ThresholdSource))
	}
	if s.IdleCompactionAt != nil {
		f.add("When idle", IdleCompaction(*s.IdleCompactionAt))
	}
	f.add("Largest context", Short(s.PeakTokens))
	c := s.Compactions
	f.add("Compactions", fmt.Sprintf("%d auto, %d manual, %d idle, %d unknown", c.Auto, c.Manual, c.Idle, c.Unknown))
	if s.Inherited > 0 {
		f.add("Inherited", fmt.Sprint(s.Inherited, " compactions of another session"))
	}
	if s.Bill != nil {
		f.add("Last "+s.Bill.Kind, billText(s.Bill))
	}

	f.add("Turns", fmt.Sprint(s.Turns))
	f.add("Replies", Thousands(int64(s.Messages)))
	f.add("Tokens", fmt.Sprintf("%s read from cache, %s into it, %s other input, %s output",
		Short(s.Tokens.CacheRead), Short(s.Tokens.CacheCreation), Short(s.Tokens.Input), Short(s.Tokens.Output)))
	f.addCost(s)
	if s.Subagents.Messages > 0 {
		f.add("Subagents", fmt.Sprintf("%d files, %d replies", s.Subagents.Files, s.Subagents.Messages))
	}

	f.add("Cross-check", cmp.Or(s.CrossCheck, "no status line yet"))
	f.add("Pane", s.Pane)
	f.add("Queued", queuedText(s.Queued))
	f.addTime("Started", value(s.StartedAt).Unix())
	f.addTime("Last reading", value(s.ReadingAt).Unix())
	f.addTime("Status line", value(s.StatuslineAt).Unix())
	f.addTime("Last hook", value(s.HookAt).Unix())
	f.addTime("Cycle began", d.Began)
	return f.list
}

// remoteFactsOf returns what a central server has of an agent besides its row.
func remoteFactsOf(s *api.Session, server string, zone *time.Location) []fact {
	f := facts{zone: zone}
	f.addCopied("Host", s.Host)
	f.addCopied("Session", s.SessionID)
	f.add("Model", s.Model)
	f.add("Client", s.Version)
	f.add("Known by", server+"; all else is on its host, in sm status and on the page there")
	if s.WindowTokens > 0 {
		f.add("Window", Short(s.WindowTokens))
	}
	if s.Cycle > 0 {
		f.add("Cycle", fmt.Sprint(s.Cycle))
	}
	f.add("Queued", queuedText(s.Queued))
	f.addCost(s)
	f.addTime("Last activity", seen(s))
	return f.list
}

// addCost adds what is known of the cost and of the cache.
func (f *facts) addCost(s *api.Session) {
	if s.CostUSD != nil {
		f.add("Cost", fmt.Sprintf("$%.2f, as the client reckons", *s.CostUSD))
	}
	if s.CacheWriteUSD != nil {
		f.add(
			"First request",
			fmt.Sprintf("$%.2f to write the context into the cache, by the client's estimate", *s.CacheWriteUSD),
		)
	}
	if s.CacheHitRatio != nil {
		f.add("From cache", fmt.Sprintf("%.0f %% of the input", 100**s.CacheHitRatio))
	}
}

// Command is a command line for an agent, and what it does.
type Command struct{ Does, Text string }

// commandsOf returns commands for an agent. Names and folders are words of a shell.
func commandsOf(s *api.Session) []Command {
	name := s.ID
	if s.Name != "" && !strings.HasPrefix(s.Name, "-") { // else it would be a flag
		name = s.Name
	}
	all := []Command{
		{Does: "say something to it", Text: "sm send " + Quote(name) + " 'TEXT'"},
		{Does: "see its handoffs", Text: "sm handoffs"},
	}
	if s.Pane != "" {
		tmux := "tmux "
		if s.TmuxSocket != "" {
			tmux += "-S " + Quote(s.TmuxSocket) + " "
		}
		all = append(all, Command{Does: "go to its pane", Text: tmux + "attach -t " + Quote(s.Pane)})
	}
	if s.SessionID != "" && !strings.HasPrefix(s.Provider, "codex") {
		resume := "claude --resume " + Quote(s.SessionID)
		if s.CWD != "" {
			resume = "cd " + Quote(s.CWD) + " && " + resume
		}
		all = append(all, Command{Does: "resume its session once it has ended", Text: resume})
	}
	return all
}

// remoteCommandsOf returns the command that shows an agent on its own host.
func remoteCommandsOf(s *api.Session) []Command {
	id := cmp.Or(s.SessionID, s.Label)
	if strings.HasPrefix(id, "-") { // it would be a flag
		return nil
	}
	return []Command{{Does: "all about it, on its host", Text: "sm status " + Quote(id)}}
}

func queuedText(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 message waits"
	}
	return fmt.Sprint(n, " messages wait")
}

// billText describes the cost of the last boundary of a context.
func billText(b *api.Bill) string {
	var parts []string
	if b.TokensDropped != nil {
		parts = append(parts, Short(*b.TokensDropped)+" tokens dropped")
	}
	if b.Seconds != nil {
		parts = append(parts, fmt.Sprintf("%.0f s", *b.Seconds))
	}
	again := fmt.Sprintf("%d of %d reads again", b.Rereads, b.Reads)
	if b.Rereads > 0 {
		again += " (" + Short(b.RereadTokens) + " tokens)"
	}
	parts = append(parts, again)
	for _, other := range []struct {
		n    int
		what string
	}{{b.Reruns, "commands"}, {b.Reedits, "edits"}, {b.Restated, "prompts"}} {
		if other.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s again", other.n, other.what))
		}
	}
	return strings.Join(parts, ", ") + fmt.Sprintf(", in %d replies", b.Replies)
}
