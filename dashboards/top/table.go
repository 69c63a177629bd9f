package top

import (
	"io"
	"strings"
	"time"

	"sm/dashboards/screen"
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
	l := newList(sessions, now, t.Width)
	l.omit = append(l.omit, "TREND")
	if t.Past {
		l.omit = append(l.omit, "STATE", "FLAGS", "REPLIES", "CYCLE")
	}
	const gap = 1
	all := l.columns()
	for i := range all {
		if all[i].title == "ID" { // what is printed can only be used by what names it
			for _, id := range l.ids {
				all[i].min = min(all[i].max, max(all[i].min, screen.Cells(id)))
			}
			all[i].rank = -1
		}
	}
	columns := placeColumns(all, t.Width, gap)
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
