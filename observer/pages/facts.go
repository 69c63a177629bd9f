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

// Messages are an agent's messages as the page takes them, the newest first. waitsFor says what keeps one from being
// delivered, "" for nothing.
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

// Facts are what is known of an agent besides its row.
func Facts(v *fleet.View, s *api.Session, p *alerts.View, history *curve.Curve) []webpage.Fact {
	facts := []webpage.Fact{
		{Name: "Agent", Value: s.ID, Copy: true}, {Name: "Session", Value: s.SessionID, Copy: true}, {Name: "Parent", Value: s.ParentID},
		{Name: "Directory", Value: s.CWD, Copy: true}, {Name: "Transcript", Value: s.TranscriptPath, Copy: true},
		{Name: "Model", Value: s.Model}, {Name: "Client", Value: s.Version}, {Name: "Window", Value: webpage.Short(s.WindowTokens) + ", by " + s.WindowSource},
	}
	if p.Threshold > 0 {
		how := map[alerts.ThresholdSource]string{
			alerts.ThresholdConfigured: "configured", alerts.ThresholdSeen: "as seen before", alerts.ThresholdAssumed: "assumed",
		}[p.ThresholdSource]
		facts = append(facts, webpage.Fact{Name: "Compacts at", Value: webpage.Short(p.Threshold) + ", " + how})
	}
	facts = append(facts,
		webpage.Fact{Name: "Largest context", Value: webpage.Short(s.PeakTokens)},
		webpage.Fact{Name: "Compactions", Value: fmt.Sprintf("%d auto, %d manual, %d unknown", s.Compactions.Auto, s.Compactions.Manual, s.Compactions.Unknown)},
	)
	if s.Inherited > 0 {
		facts = append(facts, webpage.Fact{Name: "Inherited", Value: fmt.Sprint(s.Inherited, " compactions of another session")})
	}
	if b := s.Bill; b != nil {
		facts = append(facts, webpage.Fact{Name: "Last " + b.Kind, Value: billText(b)})
	}
	return append(append(facts, usageFacts(s)...),
		webpage.Fact{Name: "Cross-check", Value: cmp.Or(s.CrossCheck, "no status line yet")},
		webpage.Fact{Name: "Pane", Value: s.Pane},
		webpage.Fact{Name: "Queued", Value: queuedText(s.Queued)},
		webpage.Fact{Name: "Started", At: int64(curve.Seconds(v.Started))},
		webpage.Fact{Name: "Last reading", At: int64(curve.Seconds(v.Reading))},
		webpage.Fact{Name: "Status line", At: int64(curve.Seconds(v.Spoke))},
		webpage.Fact{Name: "Last hook", At: int64(curve.Seconds(v.Hooked))},
		webpage.Fact{Name: "Cycle began", At: int64(history.Began())},
	)
}

// usageFacts are what an agent's session has used.
func usageFacts(s *api.Session) []webpage.Fact {
	facts := []webpage.Fact{
		{Name: "Turns", Value: fmt.Sprint(s.Turns)},
		{Name: "Replies", Value: webpage.Thousands(int64(s.Messages))},
		{Name: "Tokens", Value: fmt.Sprintf("%s read from cache, %s into it, %s other input, %s output",
			webpage.Short(s.Tokens.CacheRead), webpage.Short(s.Tokens.CacheCreation), webpage.Short(s.Tokens.Input), webpage.Short(s.Tokens.Output))},
	}
	facts = append(facts, costFacts(s)...)
	if s.Subagents.Messages > 0 {
		facts = append(facts, webpage.Fact{Name: "Subagents", Value: fmt.Sprintf("%d files, %d replies", s.Subagents.Files, s.Subagents.Messages)})
	}
	return facts
}

// costFacts are what is known of money and of the cache.
func costFacts(s *api.Session) (facts []webpage.Fact) {
	if s.CostUSD != nil {
		facts = append(facts, webpage.Fact{Name: "Cost", Value: fmt.Sprintf("$%.2f, as the client reckons", *s.CostUSD)})
	}
	if s.CacheHitRatio != nil {
		facts = append(facts, webpage.Fact{Name: "From cache", Value: fmt.Sprintf("%.0f %% of the input", 100**s.CacheHitRatio)})
	}
	return facts
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

// billText says what the last boundary of a context cost.
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
