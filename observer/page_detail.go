package observer

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"sm/alerts"
	webpage "sm/dashboards/page"
	"sm/observer/curve"
	"sm/observer/fleet"
)

// endedRunes is how much the queue keeps of a text once its message has ended.
const endedRunes = 80

// messagesTo are an agent's messages as the page takes them, the newest first.
func (c *core) messagesTo(agent alerts.AgentID) (all []webpage.Message) {
	for _, m := range slices.Backward(c.queue.Of(agent)) {
		x := webpage.Message{
			At: int64(curve.Seconds(m.Made)), From: m.From, What: m.Mode.String(), Text: m.Text, Fate: m.State.String(), WaitsFor: c.delivery.waitsFor(&m),
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

// commandsFor are what somebody who looks at an agent may want to type. Its names and folders are words of a shell there,
// whatever they are.
func commandsFor(v *fleet.View) []webpage.Command {
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
func (h *hub) under(of *webpage.Row) (all []webpage.Under) {
	h.mu.Lock()
	now := h.now
	h.mu.Unlock()
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
