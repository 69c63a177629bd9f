// Package view prints for people the results of reading past transcripts
// (reports, grids and replays), and the answers of the observer and the doctor
// as tables.
//
// Invariants: lines fit into 80 columns, except for the texts of notices. If
// the locale does not use Unicode, drawings consist of ASCII characters;
// without colours the output has no escape sequences.
//
// It reads nothing and decides nothing, and does not print JSON.
package view

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"time"

	"sm/cmd/sm/internal/term"
	"sm/dashboards/screen"
	"sm/dashboards/top"
	"sm/deploy/doctor"
	"sm/observer/api"
	"sm/observer/history/tune"
)

// A Printer prints the answer of a command to a stream with these properties.
type Printer struct {
	io.Writer
	Colour  bool
	Columns int // cells of a line
	Wrap    int // the same on a terminal, else 0: programs need each text on one line
	Glyphs  Glyphs
}

// Print prints data by the template of that name.
func (to *Printer) Print(name string, data any) error {
	_, err := io.WriteString(to, to.text(name, data))
	return err
}

// text executes the template of that name.
func (to *Printer) text(name string, data any) string {
	t := template.New("")
	funcs := to.funcs()
	funcs["render"] = func(name string, data any) string { return screen.Execute(t, name, data) }
	template.Must(t.Funcs(funcs).Parse(lists + past))
	return screen.Execute(t, name, data)
}

// funcs returns the functions of the templates. Tables make the texts of their
// cells fit for a terminal; other texts must be passed to the function text.
func (to *Printer) funcs() template.FuncMap {
	g := to.Glyphs
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
	dim := term.Text(g.None, screen.Dim)
	figure := func(n int64, text string) term.Cell {
		if n == 0 {
			return dim
		}
		return term.Text(text, "")
	}
	short := func(name string, n int) string {
		return strings.Replace(screen.FitEnd(name, n), "…", g.more, 1)
	}
	return template.FuncMap{
		"list": func(all ...any) []any { return all },
		"add":  func(a, b int) int { return a + b },
		"trim": strings.TrimPrefix,
		"text": screen.Text,
		"fit":  screen.FitEnd,
		"after": func(text, mark string) string {
			if _, rest, found := strings.Cut(text, mark); found {
				return rest
			}
			return text
		},
		"lines": func(width int, text string) string {
			if width == 0 {
				return text
			}
			return strings.Join(screen.Wrap(text, width), "\n")
		},
		"paragraph": func(text string) string {
			return strings.Join(screen.Wrap(text, min(80, to.Columns)-1), "\n")
		},
		"to":    func() *Printer { return to },
		"table": table(0, 0),
		"cut":   table(to.Columns, 0),
		"wrap":  table(0, to.Wrap),
		"in": func(colour, text string) term.Cell {
			return term.Text(text, colours[colour])
		},
		"short": short,
		// On a narrow screen the figures need the room more than the name.
		"name": func(name string) string {
			return short(name, max(8, 30-max(0, 80-to.Columns)))
		},
		"figure":  figure,
		"count":   func(n int) term.Cell { return figure(int64(n), fmt.Sprint(n)) },
		"counted": Counted,
		"tokens":  screen.Tokens,
		"percent": func(x float64) string { return fmt.Sprintf("%.0f%%", 100*x) },
		"tenths": func(x *float64) any {
			if x == nil {
				return dim
			}
			return screen.Tenths(*x)
		},
		"span":      g.span,
		"histogram": g.histogram,
		"ago":       func(t time.Time) string { return screen.Ago(&t, time.Now()) },
		"until": func(t time.Time) time.Duration {
			return max(0, time.Until(t).Round(time.Second))
		},
		"seconds": func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) },
		"lasted":  lasted,
		"value":   reflect.Indirect,
		"causes": func(c api.Compactions) string {
			return top.Compactions(&api.Session{
				Compactions: c,
			})
		},
		"agent":     shortAgent,
		"grouped":   doctor.Grouped,
		"backward":  slices.Backward[[]api.Message],
		"fields":    func(s api.Session) [][2]string { return top.Fields(s, time.Now()) },
		"summary":   g.summary,
		"choices":   candidateRows,
		"timeliest": timeliest,
		"threshold": thresholdText,
		"warned": func(f tune.Figures) float64 {
			return tune.Share(float64(f.Warned), f.Compactions)
		},
		"enough": func() int { return tune.Enough },
	}
}

// Counted formats a number of things: "1 turn", "2 turns".
func Counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// lasted formats a duration in at most two units.
func lasted(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", seconds)
	case d < time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d >= 100*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	}
	minutes := int64(d.Round(time.Minute) / time.Minute)
	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}

// shortAgent returns an argument that identifies an agent: the first 8
// characters of a UUID, else the id.
func shortAgent(id string) string {
	const uuid, most = 36, 12
	if len(id) == uuid && strings.Count(id, "-") == 4 {
		return id[:8]
	}
	return screen.FitStart(screen.Text(id), most)
}
