package top

import (
	"io"
	"strings"
	"time"

	"sm/dashboards/screen"
	"sm/observer/api"
)

// Table prints the list of sessions, a line each.
type Table struct {
	Width  int // in cells
	Colour bool
	Past   bool // no observer runs: what sessions do now is left out
}

// Write prints sessions in their order, without those that their agent has left.
func (t Table) Write(w io.Writer, sessions []api.Session, now time.Time) error {
	omit := []string{"TREND"}
	if t.Past {
		omit = append(omit, "STATE", "FLAGS", "REPLIES", "CYCLE")
	}
	l := newList(sessions, now, t.Width, omit...)
	for i := range l.columns {
		c := &l.columns[i]
		if c.title != "ID" {
			continue
		}
		c.rank = -1 // the reader needs the whole id for the next command
		for _, id := range l.ids {
			c.min = min(c.max, max(c.min, screen.Cells(id)))
		}
	}
	l.fit(t.Width)

	lines := []string{l.line(nil)}
	for i := range sessions {
		if s := &sessions[i]; s.State != "left" {
			lines = append(lines, l.line(s))
		}
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(fit(line, t.Width, t.Colour), " ")
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}
