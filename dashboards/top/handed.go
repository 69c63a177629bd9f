package top

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"sm/dashboards/screen"
	"sm/observer/api"
)

// handed holds an agent's handoffs and handoff documents, the newest first.
type handed struct {
	handoffs  []api.Handoff
	documents []document
}

// document holds the fields of GET /documents that are shown.
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

// handedOf selects the handoffs of an agent, and the documents that it wrote or
// got.
func handedOf(agent string, handoffs []api.Handoff, documents []document) *handed {
	h := &handed{}
	for _, x := range handoffs {
		if x.Agent == agent {
			h.handoffs = append(h.handoffs, x)
		}
	}
	for _, x := range documents {
		if x.Agent == agent || x.ClaimedBy == agent {
			h.documents = append(h.documents, x)
		}
	}
	slices.SortStableFunc(
		h.handoffs,
		func(a, b api.Handoff) int { return b.ChangedAt.Compare(a.ChangedAt) },
	)
	slices.SortStableFunc(
		h.documents,
		func(a, b document) int { return b.CreatedAt.Compare(a.CreatedAt) },
	)
	return h
}

// handoffs returns the view of them.
func (t *model) handoffs() []string {
	s, ok := t.session()
	if !ok {
		return gone()
	}
	name := screen.FitEnd("handoffs of "+nameOf(&s), max(1, t.width-40))
	head := []string{
		styled(
			screen.Reverse,
			name,
		) + dim("  h asks it for one, esc goes back"),
		"",
	}
	if t.handed == nil {
		return append(head, dim("  asking the observer …"))
	}
	return t.scrolled(head, t.handed.lines(t.now, t.width))
}

func (h *handed) lines(now time.Time, width int) []string {
	var lines []string
	add := func(when time.Time, colour, what, path string) {
		ago := fmt.Sprintf("  %-10s", screen.Ago(&when, now))
		lines = append(lines, dim(ago)+styled(colour, screen.Text(what)))
		for _, part := range screen.Wrap(screen.Text(path), width-12) {
			lines = append(lines, dim("            "+part))
		}
	}

	if len(h.handoffs) == 0 {
		lines = append(lines, "  no handoff of the last day")
	}
	for _, x := range h.handoffs {
		colour := ""
		what := x.State
		switch {
		case x.State == "failed":
			colour = screen.Red
			what += ": " + x.Reason
		case x.Waiting != "":
			colour = screen.Yellow
			what += ", waiting: " + x.Waiting
		}
		add(x.ChangedAt, colour, what, cmp.Or(x.Path, "made from the transcript"))
	}
	lines = append(lines, "")
	if len(h.documents) == 0 {
		lines = append(lines, "  no handoff document")
	}
	for _, x := range h.documents {
		what := fmt.Sprintf("document %s, %s, %s", x.ID, x.Type, x.Status)
		add(x.CreatedAt, "", what, cmp.Or(x.File, x.Path))
	}
	return lines
}
