package top

import (
	"io"
	"strings"
	"time"

	"sm/observer/api"
)

// Table prints one line for each session.
type Table struct {
	Width  int // in cells
	Colour bool
	Past   bool // no observer runs: columns about the present are omitted
	Mixed  bool // some agents get notices; the others are marked
}

// Write prints sessions in their order, except for sessions that their agent
// has left.
func (t Table) Write(w io.Writer, sessions []api.Session, now time.Time) error {
	omit := []string{"TREND", "USED"}
	if t.Past {
		omit = []string{"TREND", "PRESSURE", "STATE", "FLAGS", "REPLIES", "CYCLE"}
	}
	l := newList(sessions, t.Mixed, now, omit...)
	l.fit(t.Width, "ID ")

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
