package top

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"sm/dashboards/screen"
	"sm/observer/api"
)

// handed is what is known of an agent's handoffs and their documents, the newest first.
type handed struct {
	handoffs  []api.Handoff
	documents []document
}

// document is a handoff document as GET /documents gives it: the fields that are shown.
type document struct {
	ID        string    `json:"id"`
	Channel   string    `json:"channel"`
	Agent     string    `json:"agent"`
	ClaimedBy string    `json:"claimed_by"`
	CreatedAt time.Time `json:"created_at"`
	Type      string    `json:"type"`
	Status    string    `json:"status"`
	Path      string    `json:"original_path"`
	File      string    `json:"file"`
}

// handedOf keeps what is an agent's own: its handoffs, and the documents that it wrote or was given.
func handedOf(agent string, handoffs []api.Handoff, documents []document) *handed {
	h := &handed{
		handoffs:  slices.DeleteFunc(slices.Clone(handoffs), func(x api.Handoff) bool { return x.Agent != agent }),
		documents: slices.DeleteFunc(slices.Clone(documents), func(x document) bool { return x.Agent != agent && x.ClaimedBy != agent }),
	}
	slices.SortStableFunc(h.handoffs, func(a, b api.Handoff) int { return b.ChangedAt.Compare(a.ChangedAt) })
	slices.SortStableFunc(h.documents, func(a, b document) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return h
}

// handoffs is the view of them.
func (t *model) handoffs() [][]span {
	s, ok := t.session()
	if !ok {
		return [][]span{{{"this session is gone; esc goes back", screen.Yellow}}}
	}
	lines := [][]span{{{screen.FitEnd("handoffs of "+nameOf(&s), max(1, t.width-40)), screen.Reverse}, {"  h asks it for one, esc goes back", screen.Dim}}, nil}
	if t.handed == nil {
		return append(lines, []span{{"  asking the observer …", screen.Dim}})
	}
	body := t.handed.lines(t.now, t.width)
	t.line = max(0, min(t.line, len(body)-max(1, t.height-len(lines))))
	return append(lines, body[t.line:]...)
}

func (h *handed) lines(now time.Time, width int) (lines [][]span) {
	put := func(when time.Time, what, colour, path string) {
		lines = append(lines, []span{{fmt.Sprintf("  %-10s", screen.Ago(&when, now)), screen.Dim}, {screen.Text(what), colour}})
		for _, part := range screen.Wrap(screen.Text(path), width-12) {
			lines = append(lines, []span{{"            " + part, screen.Dim}})
		}
	}
	if len(h.handoffs) == 0 {
		lines = append(lines, []span{{"  no handoff of the last day", ""}})
	}
	for _, x := range h.handoffs {
		colour, what := "", x.State
		switch {
		case x.State == "failed":
			colour, what = screen.Red, x.State+": "+x.Reason
		case x.Waiting != "":
			colour, what = screen.Yellow, x.State+", waiting: "+x.Waiting
		}
		put(x.ChangedAt, what, colour, cmp.Or(x.Path, "made from the transcript"))
	}
	lines = append(lines, nil)
	if len(h.documents) == 0 {
		lines = append(lines, []span{{"  no handoff document", ""}})
	}
	for _, x := range h.documents {
		put(x.CreatedAt, fmt.Sprintf("document %s, %s, %s", x.ID, x.Type, x.Status), "", cmp.Or(x.File, x.Path))
	}
	return lines
}
