package top

import (
	"io"
	"strings"
	"time"

	"sm/observer/api"
)

// Table is the list of sessions as a command prints it: the columns of the view for so many cells, a line each.
type Table struct {
	Width  int // in cells
	Colour bool
	// Past says that nobody knows what the sessions do now: their state and flags are left out.
	Past bool
}

// Write prints sessions in the order in which they come. Those that their agent has left are not printed.
func (t Table) Write(w io.Writer, sessions []api.Session, now time.Time) error {
	l := list{now: now, omit: append(emptyColumns(sessions), "TREND")}
	if t.Past {
		l.omit = append(l.omit, "STATE", "FLAGS", "REPLIES", "CYCLE")
	}
	const gap = 1
	columns := placeColumns(t.Width, gap, l.omit...)
	var b strings.Builder
	t.line(&b, titles(columns, gap))
	for i := range sessions {
		if s := &sessions[i]; s.State != "left" {
			t.line(&b, l.row(s, columns, gap))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// line writes spans without the space at their end.
func (t Table) line(b *strings.Builder, spans []span) {
	for len(spans) > 0 && strings.TrimRight(spans[len(spans)-1].text, " ") == "" {
		spans = spans[:len(spans)-1]
	}
	drawSpans(b, fitSpans(spans, t.Width), t.Colour)
	b.WriteByte('\n')
}
