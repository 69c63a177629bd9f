package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sm/cmd/sm/internal/term"
	"sm/dashboards/screen"
	"sm/deploy/doctor"
	"sm/observer/api"
)

// narrowMessages is how many cells a line with all columns of messages needs.
const narrowMessages = 76

// WriteMessages prints messages, the newest first.
func (to *Printer) WriteMessages(list []api.Message, now time.Time) error {
	narrow := to.Columns < narrowMessages
	t := term.Table{
		Headers: []string{"ID", "TO", "KIND", "STATUS", "MADE", "TEXT"},
		Colour:  to.Colour,
		Width:   to.Columns,
	}
	if narrow {
		t.Headers = []string{"ID", "TO", "STATUS", "MADE", "TEXT"}
	}
	waiting := 0
	for _, m := range slices.Backward(list) {
		kind := cmp.Or(m.Kind, m.Mode)
		if kind == "sequential" {
			kind = "message"
		}
		status := m.Status
		switch {
		case m.WaitsFor != "":
			status += " for " + m.WaitsFor
			waiting++
		case m.Via != "" && !narrow:
			status += " by " + m.Via
		}
		text := screen.Text(m.Text)
		if _, rest, tagged := strings.Cut(text, "] "); tagged && m.Kind != "" {
			text = rest // its tag says no more than its kind
		}
		row := []any{m.ID, shortAgent(m.To), kind, status,
			term.Text(screen.Ago(&m.MadeAt, now), screen.Dim), text}
		if narrow {
			row = slices.Delete(row, 2, 3) // most texts name their kind
		}
		t.Add(row...)
	}
	if err := t.Write(to); err != nil || waiting == 0 {
		return err
	}
	note := fmt.Sprintf(
		"%d wait for hooks: none of the agent's present session has come yet; %s",
		waiting,
		doctor.HooksRemedy,
	)
	if to.Wrap > 0 {
		note = strings.Join(screen.Wrap(note, to.Wrap), "\n")
	}
	_, err := fmt.Fprintln(to, note)
	return err
}

// shortAgent is what to type to mean an agent: the beginning of its id where that is long.
func shortAgent(id string) string {
	const uuid, most = 36, 12
	if len(id) == uuid && strings.Count(id, "-") == 4 {
		return id[:8]
	}
	return screen.FitStart(screen.Text(id), most)
}

// WriteHandoffs prints handoffs in the order in which they come.
func (to *Printer) WriteHandoffs(list []api.Handoff, now time.Time) error {
	t := term.Table{
		Headers: []string{"ID", "AGENT", "STATE", "WAY", "CHANGED", "FILE"},
		Colour:  to.Colour,
		Wrap:    to.Wrap,
	}
	for _, h := range list {
		state := h.State
		switch {
		case h.Reason != "":
			state += ": " + h.Reason
		case h.Waiting != "":
			state += ", waiting: " + h.Waiting
		}
		file := h.Path
		if h.Auto && file == "" {
			file = "(made from the transcript)"
		}
		tint := ""
		if h.State == "failed" {
			tint = screen.Red
		}
		t.Add(
			h.ID,
			shortAgent(h.Agent),
			term.Text(state, tint),
			term.Text(h.Way, screen.Dim),
			term.Text(screen.Ago(&h.ChangedAt, now), screen.Dim),
			file,
		)
	}
	return t.Write(to)
}

// WriteFindings prints what the doctor has found, each with what to do.
func (to *Printer) WriteFindings(findings []doctor.Finding) error {
	t := term.Table{
		Headers: []string{"", "CHECK", "FINDING"},
		Colour:  to.Colour,
		Wrap:    to.Wrap,
	}
	for _, f := range findings {
		colour := map[doctor.Status]string{
			doctor.Noted:  screen.Yellow,
			doctor.Broken: screen.Red,
		}[f.Status]
		t.Add(term.Text(string(f.Status), colour), f.Check, f.Text)
		if f.Remedy != "" {
			t.Add(
				term.Cell{},
				term.Cell{},
				term.Text("→ "+screen.OneLine(f.Remedy), screen.Dim),
			)
		}
	}
	return t.Write(to)
}
