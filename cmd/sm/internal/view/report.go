package view

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"sm/cmd/sm/internal/term"
	"sm/dashboards/screen"
	"sm/dashboards/top"
	"sm/observer/api"
	"sm/observer/history/report"
)

// reportRows is how many projects or models a report prints; --json has all.
const reportRows = 12

// WriteReport prints a report in 80 columns: what it comes to, and with verbose all that it is made of.
func (to *Printer) WriteReport(r *report.Report, verbose bool) error {
	var b strings.Builder
	to.writeReport(&b, r, verbose)
	_, err := io.WriteString(to.Writer, b.String())
	return err
}

func (to *Printer) writeReport(b *strings.Builder, r *report.Report, verbose bool) {
	if r.Sessions == 0 {
		b.WriteString("no sessions found\n")
		writeStrange(b, r.Strange)
		return
	}
	g := to.Glyphs
	writeSentences(b, leadOf(&r.Costs), struckAt(r, g))
	fmt.Fprintf(b, "%s, %s", counted(r.Sessions, "session"), counted(r.Turns, "turn"))
	if r.From != nil {
		fmt.Fprintf(
			b,
			", %s to %s",
			r.From.Local().Format(time.DateOnly),
			r.To.Local().Format(time.DateOnly),
		)
	}
	b.WriteString("\n" + compactionsOf(r.Compactions) + "\n")
	if r.Compactions.Total() > 0 {
		fmt.Fprintf(
			b,
			"%s tokens dropped by compactions, %s\n",
			screen.Tokens(r.Dropped),
			counted(r.Storms, "storm"),
		)
	}
	writeStrange(b, r.Strange)
	if r.Compactions.Total()+r.Costs.Handoffs.Count+r.Costs.Clears.Count > 0 {
		b.WriteByte('\n')
		to.writeCosts(b, r)
	}
	if !verbose {
		b.WriteString("\n--verbose shows projects, models, months, and how sizes and turns are spread\n")
		return
	}
	for _, part := range []struct {
		header string
		rows   []report.Row
	}{{"PROJECT", r.Projects}, {"MODEL", r.Models}, {"MONTH", r.Months}} {
		b.WriteByte('\n')
		to.writeRows(b, part.header, part.rows)
	}
	writeSpread(b, r, g)
}

// sentenceWidth is how wide sentences become, in cells.
const sentenceWidth = 79

// writeSentences writes those that say something, each from the start of a line.
func writeSentences(b *strings.Builder, all ...string) {
	for _, text := range all {
		for text != "" {
			part := screen.FirstCells(text, sentenceWidth)
			if at := strings.LastIndexByte(part, ' '); len(part) < len(text) && at > 0 {
				part = part[:at]
			}
			b.WriteString(part + "\n")
			text = strings.TrimLeft(text[len(part):], " ")
		}
	}
}

// struckAt returns the median sizes before compactions that were not manual, and
// after all compactions; "" if they are unknown.
func struckAt(r *report.Report, g Glyphs) string {
	if r.Pre.Known == 0 {
		return ""
	}
	text := fmt.Sprintf(
		"Those not made by hand came at %s tokens (p10%sp90 %s)",
		screen.Tokens(*r.Pre.Median),
		g.dash,
		g.tokens(*r.Pre.P10, *r.Pre.P90),
	)
	if r.Post.Known > 0 {
		text += fmt.Sprintf("; %s were left", screen.Tokens(*r.Post.Median))
	}
	return text + "."
}

// writeStrange says how many files are no transcripts.
func writeStrange(b *strings.Builder, n int) {
	switch {
	case n == 1:
		b.WriteString("1 file is no transcript and is left out\n")
	case n > 1:
		fmt.Fprintf(b, "%d files are no transcripts and are left out\n", n)
	}
}

// counted writes a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// compactionsOf writes counts as "3 compactions (2 auto, 1 manual)".
func compactionsOf(c api.Compactions) string {
	text := counted(c.Total(), "compaction")
	if c.Total() == 0 {
		return text
	}
	return text + " (" + top.Compactions(&api.Session{Compactions: c}) + ")"
}

// writeRows prints the busiest rows, or the newest months, and how many there are besides.
func (to *Printer) writeRows(b *strings.Builder, header string, rows []report.Row) {
	g := to.Glyphs
	t := term.Table{
		Headers: []string{
			header,
			" SESSIONS",
			" TURNS",
			" AUTO",
			" MANUAL",
			" IDLE",
			" UNKNOWN",
		},
		Colour: to.Colour,
	}
	shown := rows
	if more := len(rows) - reportRows; more > 0 && header == "MONTH" {
		shown = rows[more:]
	} else if more > 0 {
		shown = rows[:reportRows]
	}
	for _, r := range shown {
		name := r.Name
		if header == "MODEL" {
			name = strings.TrimPrefix(name, "claude-")
		}
		c := r.Compactions
		t.Add(
			g.short(cmp.Or(name, "(unknown)"), nameCells(to.Columns)),
			g.count(r.Sessions),
			g.count(r.Turns),
			g.count(c.Auto),
			g.count(c.Manual),
			g.count(c.Idle),
			g.count(c.Unknown),
		)
	}
	b.WriteString(t.String())
	if more := len(rows) - len(shown); more > 0 {
		fmt.Fprintf(b, "and %d more; --json has all\n", more)
	}
}

// nameCells is how much room names have in lines of so many cells: figures come first.
func nameCells(columns int) int { return max(8, 30-max(0, 80-columns)) }

// short fits a name into n cells.
func (g Glyphs) short(name string, n int) string {
	return strings.Replace(screen.FitEnd(name, n), "…", g.more, 1)
}

// figure is a number in a table, in the words of show; none is dim.
func (g Glyphs) figure(n int64, show func(int64) string) term.Cell {
	if n == 0 {
		return term.Text(g.none, screen.Dim)
	}
	return term.Text(show(n), "")
}

func (g Glyphs) count(n int) term.Cell {
	return g.figure(int64(n), func(n int64) string { return fmt.Sprint(n) })
}

const turnsTitle = "Turns in a cycle that a compaction ended"

// span writes two figures, or one where they are the same.
func (g Glyphs) span(from, to string) string {
	if from == to {
		return from
	}
	return from + g.dash + to
}

func (g Glyphs) tokens(from, to int64) string {
	return g.span(
		screen.Tokens(from),
		screen.Tokens(to),
	)
}
func (g Glyphs) numbers(from, to int64) string {
	return g.span(
		fmt.Sprint(from),
		fmt.Sprint(to),
	)
}
func (g Glyphs) percents(from, to int64) string { return g.numbers(from, to) + "%" }

// writeSpread writes the histograms and the table of thresholds.
func writeSpread(b *strings.Builder, r *report.Report, g Glyphs) {
	if r.Compactions.Total() == 0 {
		b.WriteString("\nNo compaction in these transcripts: nothing to say of where it strikes.\n")
		return
	}
	for _, part := range []struct {
		title string
		d     report.Distribution
		label func(from, to int64) string
	}{
		{"Context size at compactions that nobody asked for", r.Pre, g.tokens},
		{"Context size at compactions by hand", r.ManualPre, g.tokens},
		{"Context size at compactions of idle conversations", r.IdlePre, g.tokens},
		{"First reading after a compaction, in tokens", r.Post, g.tokens},
		{
			"First reading after a compaction, in percent of the window",
			r.PostPercentage,
			g.percents,
		},
		{turnsTitle, r.TurnsPerCycle, g.numbers},
	} {
		if part.d.Known == 0 {
			continue
		}
		d := &part.d
		fmt.Fprintf(b, "\n%s\n%s", part.title, g.histogram(d.Histogram, func(x report.Bin) string {
			if part.title == turnsTitle {
				return part.label(
					x.From,
					x.To-1,
				) // whole numbers; To itself is not in the bin
			}
			return part.label(x.From, x.To)
		}))
		fmt.Fprintf(
			b,
			"  median %s; p10%sp90 %s, all within %s",
			part.label(*d.Median, *d.Median),
			g.dash,
			part.label(*d.P10, *d.P90),
			part.label(*d.Min, *d.Max),
		)
		if part.d.Unknown > 0 {
			fmt.Fprintf(b, "; %d unknown", part.d.Unknown)
		}
		b.WriteByte('\n')
	}
	writeThreshold(b, &r.Threshold, g)
	writeForecasts(b, r.Forecast)
}

// writeForecasts says how good the forecasts were that were made before compactions.
func writeForecasts(b *strings.Builder, all []report.Forecast) {
	title := "\nForecasts before automatic compactions, as they would have been made then\n"
	for _, f := range all {
		if f.Forecasts == 0 {
			continue
		}
		fmt.Fprintf(b, "%s  With %d replies left: %.0f%% off in the median, %.0f%% within the range, of %d\n",
			title, f.Left, 100**f.Error, 100**f.Within, f.Forecasts)
		title = ""
	}
}

// writeThreshold prints the figures that one asks for first.
func writeThreshold(b *strings.Builder, t *report.Threshold, g Glyphs) {
	row := func(name, value string) {
		fmt.Fprintf(
			b,
			"  %s%s %s\n",
			name,
			strings.Repeat(" ", max(0, 36-screen.Cells(name))),
			value,
		)
	}
	between := func(r *report.Range) string {
		if r == nil {
			return g.none
		}
		return g.tokens(r.From, r.To) + " tokens"
	}
	b.WriteString("\nCompaction threshold\n")
	row("Typical (p10"+g.dash+"p90)", between(t.Typical))
	row("Most common range", between(t.MostCommon))
	row("Size after compaction (p10"+g.dash+"p90)", between(t.After))
	for _, s := range t.Sessions {
		row(fmt.Sprintf(
			"Session with %s",
			counted(s.Compactions, "compaction"),
		), "at "+between(&report.Range{
			From: s.MinPre,
			To:   s.MaxPre,
		}))
	}
}
