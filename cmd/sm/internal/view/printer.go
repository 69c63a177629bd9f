// Package view prints for people what sm reads out of past transcripts, that is reports, grids and replays, and the tables of
// what the observer and the doctor say.
//
// Invariants: lines fit into 80 columns, except for the texts of notices. Where the locale is not of Unicode, drawings
// are of ASCII characters; without colours nothing but text is written.
//
// It reads nothing and decides nothing, and does not print JSON.
package view

import (
	"io"
	"slices"
	"strings"
	"text/template"
	"time"

	"sm/cmd/sm/internal/term"
	"sm/dashboards/screen"
	"sm/dashboards/top"
	"sm/deploy/doctor"
	"sm/observer/api"
)

// A Printer is where the answer of a command goes, and what can be shown there.
type Printer struct {
	io.Writer
	Colour  bool
	Columns int // cells of a line
	Wrap    int // the same on a terminal, 0 for none: what is read by programs stays on its line
	Glyphs  Glyphs
}

// Print prints data by the template of that name.
func (to *Printer) Print(name string, data any) error {
	t, err := template.New("").Funcs(to.funcs()).Parse(lists)
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(to, name, data)
}

// funcs are the functions of the templates. A table makes its cells fit for a terminal;
// other texts have to pass text.
func (to *Printer) funcs() template.FuncMap {
	table := func(width, wrap int) func(...string) *term.Table {
		return func(headers ...string) *term.Table {
			return &term.Table{
				Headers: headers,
				Colour:  to.Colour,
				Width:   width,
				Wrap:    wrap,
			}
		}
	}
	colours := map[string]string{
		"dim":    screen.Dim,
		"red":    screen.Red,
		"orange": screen.Orange,
		"yellow": screen.Yellow,
	}
	return template.FuncMap{
		"table": table(0, 0),
		"cut":   table(to.Columns, 0),
		"wrap":  table(0, to.Wrap),
		"in": func(colour, text string) term.Cell {
			return term.Text(
				text,
				colours[colour],
			)
		},
		"ago": func(t time.Time) string { return screen.Ago(&t, time.Now()) },
		"until": func(t *time.Time) time.Duration {
			return max(0, time.Until(*t).Round(time.Second))
		},
		"fields":   func(s api.Session) [][2]string { return top.Fields(s, time.Now()) },
		"text":     screen.Text,
		"fit":      screen.FitEnd,
		"agent":    shortAgent,
		"columns":  func() int { return to.Columns },
		"backward": slices.Backward[[]api.Message],
		"after": func(text, mark string) string {
			if _, rest, found := strings.Cut(text, mark); found {
				return rest
			}
			return text
		},
		"add":         func(a, b int) int { return a + b },
		"seconds":     func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) },
		"hooksRemedy": func() string { return doctor.HooksRemedy },
		"lines": func(text string) string {
			if to.Wrap == 0 {
				return text
			}
			return strings.Join(screen.Wrap(text, to.Wrap), "\n")
		},
	}
}

// shortAgent is what to type to mean an agent: the beginning of its id where that is long.
func shortAgent(id string) string {
	const uuid, most = 36, 12
	if len(id) == uuid && strings.Count(id, "-") == 4 {
		return id[:8]
	}
	return screen.FitStart(screen.Text(id), most)
}
