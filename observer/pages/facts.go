package pages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"sm/alerts"
	"sm/alerts/outbox"
	webpage "sm/dashboards/page"
	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/fleet"
)

// endedRunes is how much the queue keeps of a text once its message has ended.
const endedRunes = 80

// Messages returns an agent's messages for the page, newest first. waitsFor returns
// what a message waits for, "" for nothing.
func Messages(of []outbox.Message, waitsFor func(*outbox.Message) string) (all []webpage.Message) {
	for _, m := range slices.Backward(of) {
		x := webpage.Message{
			At: int64(curve.Seconds(m.Made)), From: m.From, What: m.Mode.String(), Text: m.Text, Fate: m.State.String(), WaitsFor: waitsFor(&m),
		}
		if m.Notice() {
			x.What = "notice: " + m.Key.Kind.String()
		}
		if m.Offers > 0 {
			x.Way = m.Via.String()
		}
		if m.State.Ended() && utf8.RuneCountInString(m.Text) >= endedRunes {
			x.Text += "…"
		}
		all = append(all, x)
	}
	return all
}

// Commands are what somebody who looks at an agent may want to type. Its names and folders are words of a shell there,
// whatever they are.
func Commands(v *fleet.View) []webpage.Command {
	name := v.Agent
	if !strings.HasPrefix(v.Name, "-") { // it would be taken for a flag
		name = cmp.Or(v.Name, v.Agent)
	}
	all := []webpage.Command{
		{Does: "say something to it", Text: "sm send " + webpage.Quote(name) + " 'TEXT'"},
		{Does: "see its handoffs", Text: "sm handoffs"},
	}
	if v.Pane != "" {
		tmux := "tmux "
		if v.Tmux != "" {
			tmux += "-S " + webpage.Quote(v.Tmux) + " "
		}
		all = append(all, webpage.Command{Does: "go to its pane", Text: tmux + "attach -t " + webpage.Quote(v.Pane)})
	}
	if v.SessionID != "" && !strings.HasPrefix(v.Provider, "codex") {
		resume := "claude --resume " + webpage.Quote(v.SessionID)
		if v.CWD != "" {
			resume = "cd " + webpage.Quote(v.CWD) + " && " + resume
		}
		all = append(all, webpage.Command{Does: "resume its session once it has ended", Text: resume})
	}
	return all
}

// under are those of the agents shown that work for one.
func (h *Hub) under(of *webpage.Row) (all []webpage.Under) {
	now := h.newest()
	if now == nil {
		return nil
	}
	for _, d := range now.rows {
		if d.row.Parent == "" || d.row.ID == of.ID || d.row.Parent != of.ID && d.row.Parent != of.Name {
			continue
		}
		all = append(all, webpage.Under{
			ID: d.row.ID, Name: cmp.Or(d.row.Title, d.row.Name), State: d.row.State, Pressure: d.row.Pressure,
			Tokens: d.row.Tokens, Window: d.row.Window, Seen: d.row.Seen,
		})
	}
	return all
}

// facts are lines about an agent. The page leaves out those that say nothing.
type facts []webpage.Fact

func (f *facts) add(name, value string) { *f = append(*f, webpage.Fact{Name: name, Value: value}) }

// addTime adds a time in seconds since 1970.
func (f *facts) addTime(name string, at uint32) {
	*f = append(*f, webpage.Fact{Name: name, At: int64(at)})
}

// Facts are what is known of an agent besides its row.
func Facts(v *fleet.View, s *api.Session, p *alerts.View, history *curve.Curve) []webpage.Fact {
	f := facts{
		{Name: "Agent", Value: s.ID, Copy: true}, {Name: "Session", Value: s.SessionID, Copy: true}, {Name: "Parent", Value: s.ParentID},
		{Name: "Directory", Value: s.CWD, Copy: true}, {Name: "Transcript", Value: s.TranscriptPath, Copy: true},
		{Name: "Model", Value: s.Model}, {Name: "Client", Value: s.Version}, {Name: "Window", Value: webpage.Short(s.WindowTokens) + ", by " + s.WindowSource},
	}
	if p.Threshold > 0 {
		f.add("Compacts", webpage.CompactsAt(p.Threshold, s.ThresholdSource))
	}
	if s.IdleCompactionAt != nil {
		f.add("When idle", webpage.IdleCompaction(*s.IdleCompactionAt))
	}
	f.add("Largest context", webpage.Short(s.PeakTokens))
	f.add("Compactions", fmt.Sprintf("%d auto, %d manual, %d idle, %d unknown", s.Compactions.Auto, s.Compactions.Manual, s.Compactions.Idle, s.Compactions.Unknown))
	if s.Inherited > 0 {
		f.add("Inherited", fmt.Sprint(s.Inherited, " compactions of another session"))
	}
	if b := s.Bill; b != nil {
		f.add("Last "+b.Kind, billText(b))
	}
	f.addUsage(s)
	f.add("Cross-check", cmp.Or(s.CrossCheck, "no status line yet"))
	f.add("Pane", s.Pane)
	f.add("Queued", queuedText(s.Queued))
	f.addTime("Started", curve.Seconds(v.Started))
	f.addTime("Last reading", curve.Seconds(v.Reading))
	f.addTime("Status line", curve.Seconds(v.Spoke))
	f.addTime("Last hook", curve.Seconds(v.Hooked))
	f.addTime("Cycle began", history.Began())
	return f
}

// addUsage adds what an agent's session has used.
func (f *facts) addUsage(s *api.Session) {
	f.add("Turns", fmt.Sprint(s.Turns))
	f.add("Replies", webpage.Thousands(int64(s.Messages)))
	f.add("Tokens", fmt.Sprintf("%s read from cache, %s into it, %s other input, %s output",
		webpage.Short(s.Tokens.CacheRead), webpage.Short(s.Tokens.CacheCreation), webpage.Short(s.Tokens.Input), webpage.Short(s.Tokens.Output)))
	f.addCost(s)
	if s.Subagents.Messages > 0 {
		f.add("Subagents", fmt.Sprintf("%d files, %d replies", s.Subagents.Files, s.Subagents.Messages))
	}
}

// addCost adds what is known of money and of the cache.
func (f *facts) addCost(s *api.Session) {
	if s.CostUSD != nil {
		f.add("Cost", fmt.Sprintf("$%.2f, as the client reckons", *s.CostUSD))
	}
	if s.CacheWriteUSD != nil {
		f.add("First request", fmt.Sprintf("$%.2f to write the context into the cache, by the client's estimate", *s.CacheWriteUSD))
	}
	if s.CacheHitRatio != nil {
		f.add("From cache", fmt.Sprintf("%.0f %% of the input", 100**s.CacheHitRatio))
	}
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
		parts = append(parts, webpage.Short(*b.TokensDropped)+" tokens dropped")
	}
	if b.Seconds != nil {
		parts = append(parts, fmt.Sprintf("%.0f s", *b.Seconds))
	}
	again := fmt.Sprintf("%d of %d reads again", b.Rereads, b.Reads)
	if b.Rereads > 0 {
		again += " (" + webpage.Short(b.RereadTokens) + " tokens)"
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
