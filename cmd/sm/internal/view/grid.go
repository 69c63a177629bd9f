package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"sm/cmd/sm/internal/term"
	"sm/dashboards/screen"
	"sm/observer/history/tune"
)

// WriteGrid prints a grid in 80 columns: the verdict, and with verbose what it was reached by.
func (to *Printer) WriteGrid(g *tune.Grid, verbose bool) error {
	var b strings.Builder
	to.writeGrid(&b, g, verbose)
	_, err := io.WriteString(to.Writer, b.String())
	return err
}

func (to *Printer) writeGrid(b *strings.Builder, g *tune.Grid, verbose bool) {
	writeSentences(b, verdictOf(g))
	fmt.Fprintf(
		b,
		"%s, %s\n%s\n",
		counted(g.Sessions, "session"),
		counted(g.Cycles, "cycle"),
		compactionsOf(g.Compactions),
	)
	if g.Unseen > 0 {
		fmt.Fprintf(
			b,
			"%s at the very start of a transcript: left out of what follows\n",
			counted(g.Unseen, "compaction"),
		)
	}
	writeStrange(b, g.Strange)
	switch {
	case !verbose && len(g.Configuration) > 0:
		b.WriteByte('\n')
		writeConfiguration(b, g)
		return
	case !verbose:
		b.WriteString("\n--verbose shows what was tried, and how it compares\n")
		return
	case g.Chosen == nil:
		to.writeCurrent(b, g)
	default:
		to.writeChoice(b, g)
	}
	to.writeForecast(b, g)
	writeAdvice(b, g)
}

// writeCurrent prints what the thresholds in force are worth where there is nothing to choose.
func (to *Printer) writeCurrent(b *strings.Builder, g *tune.Grid) {
	fmt.Fprintf(
		b,
		"\n%s on all sessions, with %s\n",
		candidateName(&g.Current),
		counted(g.Overall.Compactions, "compaction"),
	)
	to.writeCandidates(
		b,
		[]*tune.Candidate{&g.Current},
		func(*tune.Candidate) *tune.Figures { return &g.Overall },
	)
}

// writeChoice prints what there is to choose from, and how that was on the other half.
func (to *Printer) writeChoice(b *strings.Builder, g *tune.Grid) {
	fmt.Fprintf(
		b,
		"\nOn the half that chooses, with %s: each warning, its best critical\n",
		counted(g.Current.Choosing.Compactions, "compaction"),
	)
	to.writeCandidates(
		b,
		candidateRows(g),
		func(c *tune.Candidate) *tune.Figures { return &c.Choosing },
	)
	for _, k := range g.Knees {
		if k.Unit == g.Chosen.Unit && k.Warning != nil && k.Critical != nil {
			fmt.Fprintf(
				b,
				"knee of the coverage: warning %s, critical %s, each for itself\n",
				thresholdText(*k.Warning, k.Unit),
				thresholdText(*k.Critical, k.Unit),
			)
		}
	}
	fmt.Fprintf(b, "best: %s, measure %.2f with a standard error of %.2f\n"+
		"chosen: %s, of the pairs no further below it the one with the lowest\ncritical notice\n",
		candidateName(g.Best), g.Best.Choosing.Measure, g.Best.Choosing.StandardError, candidateName(g.Chosen))
	if g.Groups < 2 {
		fmt.Fprintf(
			b,
			"\nOne session: there is nothing to check against. %s there:\n",
			candidateName(&g.Current),
		)
		to.writeCandidates(
			b,
			[]*tune.Candidate{&g.Current},
			func(*tune.Candidate) *tune.Figures { return &g.Overall },
		)
		return
	}
	fmt.Fprintf(
		b,
		"\nOn the half that checks, with %s\n",
		counted(g.Current.Checking.Compactions, "compaction"),
	)
	named := []*tune.Candidate{g.Chosen}
	for _, c := range []*tune.Candidate{&g.Current, &g.Default} {
		if !slices.ContainsFunc(named, func(n *tune.Candidate) bool { return n.Same(c) }) {
			named = append(named, c)
		}
	}
	to.writeCandidates(b, named, func(c *tune.Candidate) *tune.Figures { return &c.Checking })
}

// candidateRows are, of the unit that was chosen, the best pair for each warning, and the one that was chosen in its place.
func candidateRows(g *tune.Grid) (list []*tune.Candidate) {
	for i := range g.Pairs {
		p := &g.Pairs[i]
		if p.Unit != g.Chosen.Unit {
			continue
		}
		last := len(list) - 1
		switch {
		case last < 0 || list[last].Warning != p.Warning:
			list = append(list, p)
		case list[last].Same(g.Chosen):
		case p.Same(g.Chosen) || p.Choosing.Measure > list[last].Choosing.Measure:
			list[last] = p
		}
	}
	return list
}

func (to *Printer) writeCandidates(
	b *strings.Builder,
	list []*tune.Candidate,
	of func(*tune.Candidate) *tune.Figures,
) {
	t := term.Table{
		Colour: to.Colour,
		Headers: []string{
			" WARN",
			" CRIT",
			" WARNED",
			" TIMELY",
			" USED",
			" TURNS",
			" WORST",
			" MINUTES",
			" WORST",
			" VAIN",
			" MEASURE",
		},
	}
	percent := func(x float64) string { return fmt.Sprintf("%.0f%%", 100*x) }
	figure := func(x *float64) any {
		if x == nil {
			return term.Text(to.Glyphs.none, screen.Dim)
		}
		return strings.TrimSuffix(fmt.Sprintf("%.1f", *x), ".0")
	}
	for _, c := range list {
		f := of(c)
		t.Add(thresholdText(
			c.Warning,
			c.Unit,
		), thresholdText(
			c.Critical,
			c.Unit,
		), percent(tune.Share(
			float64(f.Warned),
			f.Compactions,
		)),
			percent(f.Coverage), percent(f.Used), figure(f.Turns.Median), figure(f.Turns.Worst), figure(f.Minutes.Median), figure(f.Minutes.Worst),
			percent(f.VainShare), fmt.Sprintf("%.2f", f.Measure))
	}
	b.WriteString(t.String())
}

func thresholdText(n int64, unit string) string {
	if n == 0 {
		return "off"
	}
	if unit == "percent" || unit == "mixed" && n <= 100 {
		return fmt.Sprintf("%d%%", n)
	}
	return screen.Tokens(n)
}

func candidateName(c *tune.Candidate) string {
	return thresholdText(c.Warning, c.Unit) + " and " + thresholdText(c.Critical, c.Unit)
}

func (to *Printer) writeForecast(b *strings.Builder, g *tune.Grid) {
	var parts []string
	for _, f := range g.Forecast {
		if f.Error != nil {
			parts = append(
				parts,
				fmt.Sprintf(
					"%d left: %.0f%%, %.0f%%, %d of %d",
					f.Left,
					100**f.Error,
					100*f.Within,
					f.Known,
					f.Forecasts,
				),
			)
		}
	}
	b.WriteString("\nForecast, by turns left: median error, truth within its range, forecasts made\n  " +
		cmp.Or(
			strings.Join(parts, "\n  "),
			to.Glyphs.none+" (it needs three automatic compactions of a model)",
		) + "\n")
}

// verdictOf is what a grid comes to, in a sentence.
func verdictOf(g *tune.Grid) string {
	inTime := func(f *tune.Figures) string {
		was := "were"
		if f.Compactions == 1 {
			was = "was"
		}
		return fmt.Sprintf(
			"%d of %s %s announced in time",
			f.Timely,
			counted(f.Compactions, "compaction"),
			was,
		)
	}
	kept := "Keep " + pairName(&g.Current) + ": "
	switch g.Advice {
	case tune.AdviceTooFew:
		if g.Overall.Compactions == 0 {
			return kept + "there is no compaction to choose others by."
		}
		return fmt.Sprintf("%s%s, too few to choose others by.", kept, inTime(&g.Overall))
	case tune.AdviceNone:
		return fmt.Sprintf("%sno threshold announces these compactions in time.", kept)
	case tune.AdviceUnchecked:
		return fmt.Sprintf(
			"Try %s: %s, in the sessions that it was chosen by; too few others check it.",
			pairName(g.Chosen),
			inTime(&g.Chosen.Choosing),
		)
	case tune.AdviceChange:
		return fmt.Sprintf("Change to %s: %s where it was not chosen, %d with %s.",
			pairName(g.Chosen), inTime(&g.Chosen.Checking), g.Current.Checking.Timely, pairName(&g.Current))
	}
	return kept + inTime(&g.Overall) + "."
}

// pairName is a pair of thresholds as 50 / 65 %.
func pairName(c *tune.Candidate) string {
	if c.Unit == "percent" && c.Warning > 0 && c.Critical > 0 {
		return fmt.Sprintf("%d / %d %%", c.Warning, c.Critical)
	}
	return thresholdText(c.Warning, c.Unit) + " / " + thresholdText(c.Critical, c.Unit)
}

// writeAdvice prints what the verdict rests on, and the lines to paste.
func writeAdvice(b *strings.Builder, g *tune.Grid) {
	switch g.Advice {
	case tune.AdviceTooFew:
		fmt.Fprintf(
			b,
			"\nNothing is recommended: the half that chooses needs %d compactions.\n",
			tune.Enough,
		)
	case tune.AdviceNone:
		b.WriteString("\nNothing is recommended: contexts fill up too soon after any notice.\n")
		return
	}
	if g.Chosen != nil && g.Groups > 1 {
		fmt.Fprintf(b, "\nMeasure where it was not chosen: %s %.2f, %s %.2f;\nthe difference has a standard error of %.2f\n",
			candidateName(g.Chosen), g.Chosen.Checking.Measure, candidateName(&g.Current), g.Current.Checking.Measure,
			g.Difference.StandardError)
	}
	switch {
	case len(g.Configuration) > 0:
		b.WriteByte('\n')
		writeConfiguration(b, g)
	case g.Advice == tune.AdviceChange || g.Advice == tune.AdviceUnchecked:
		b.WriteString("\nThe configuration has it already.\n")
	}
}

// writeConfiguration prints the lines with which the chosen pair is in force.
func writeConfiguration(b *strings.Builder, g *tune.Grid) {
	verb := map[tune.Advice]string{
		tune.AdviceChange:    "use",
		tune.AdviceUnchecked: "try",
	}[g.Advice]
	fmt.Fprintf(
		b,
		"To %s it, have these lines under context_monitor: in the configuration, beside\nthe others there:\n\n%s\n",
		verb,
		strings.Join(g.Configuration, "\n"),
	)
}
