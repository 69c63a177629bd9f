package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"sm/alerts"
)

const gridHelp = `
With --grid the thresholds themselves are tried: each notice in steps of 5 percent of the window and in steps of
tokens, by the observer's own engine, over sessions without what they copied from others. The sessions are split in
two by their ids: one half chooses, the other checks. --warning and --critical then say what to compare with.

  measure   coverage x used - 0.25 x vain share
  coverage  of the compactions that nobody made by hand, the share with a notice in time: a warning, heard at the
            end of a turn, at least 2 turns ahead; a critical notice, heard between tool calls, at least 10 replies
  used      how full the context was at that notice, as a share of its size at the compaction: the mean of those in time
  vain      of the cycles that no compaction ended, the share with a notice

Chosen is, of the pairs whose measure is no more than one standard error below the best, the one that insists earliest:
the lowest critical notice, with the best warning to it; in percent if such a pair is among them, else in tokens.

A turn ahead is a prompt between notice and compaction. Minutes are those of work: a pause counts as 5 at most.
Percentages are of the window that a session turned out to have.`

// configurationOf are the lines that set thresholds.
func configurationOf(t alerts.Thresholds) []string {
	lines := []string{"context_monitor:"}
	if t.WarningTokens > 0 {
		return append(lines, fmt.Sprintf("  warning_tokens: %d", t.WarningTokens), fmt.Sprintf("  critical_tokens: %d", t.CriticalTokens))
	}
	return append(lines, fmt.Sprintf("  warning_percentage: %d", t.WarningPercentage), fmt.Sprintf("  critical_percentage: %d", t.CriticalPercentage))
}

// writeGrid prints a grid in 80 columns.
func (env *environ) writeGrid(g *grid) error {
	var b strings.Builder
	s := env.glyphs()
	fmt.Fprintf(&b, "%s, %s\n%s\n", counted(g.Sessions, "session"), counted(g.Cycles, "cycle"), compactionsOf(g.Compactions))
	if g.Chosen == nil {
		fmt.Fprintf(&b, "Too few to choose thresholds by: the half of the sessions that chooses needs\n"+
			"%d compactions that nobody made by hand, and has %d. Those in force stay:\n%s.\n", enough, g.Current.Choosing.Compactions, g.Current.name())
		_, err := io.WriteString(env.stdout, b.String())
		return err
	}
	fmt.Fprintf(&b, "\nOn the half that chooses, with %s: each warning, its best critical\n", counted(g.Current.Choosing.Compactions, "compaction"))
	if err := env.writeCandidates(&b, g.rows(), s, func(c *candidate) *figures { return &c.Choosing }); err != nil {
		return err
	}
	for _, k := range g.Knees {
		if k.Unit == g.Chosen.Unit && k.Warning != nil {
			fmt.Fprintf(&b, "knee of the coverage: warning %s, critical %s, each for itself\n", thresholdText(*k.Warning, k.Unit), thresholdText(*k.Critical, k.Unit))
		}
	}
	fmt.Fprintf(&b, "\nOn the half that checks, with %s\n", counted(g.Current.Checking.Compactions, "compaction"))
	named := []*candidate{g.Chosen, &g.Current}
	if g.Current.thresholds != g.Default.thresholds {
		named = append(named, &g.Default)
	}
	if err := env.writeCandidates(&b, named, s, func(c *candidate) *figures { return &c.Checking }); err != nil {
		return err
	}
	g.writeForecast(&b, s)
	g.writeAdvice(&b)
	_, err := io.WriteString(env.stdout, b.String())
	return err
}

// rows are, of the unit that was chosen, the best pair for each warning.
func (g *grid) rows() (list []*candidate) {
	for i := range g.Pairs {
		p := &g.Pairs[i]
		if p.Unit != g.Chosen.Unit {
			continue
		}
		last := len(list) - 1
		switch {
		case last < 0 || list[last].Warning != p.Warning:
			list = append(list, p)
		case p.Choosing.Measure > list[last].Choosing.Measure:
			list[last] = p
		}
	}
	return list
}

func (env *environ) writeCandidates(w io.Writer, list []*candidate, s glyphs, of func(*candidate) *figures) error {
	t := table{colour: env.colours(env.stdout), headers: []string{" WARN", " CRIT", " WARNED", " TIMELY", " USED", " TURNS", " WORST", " MINUTES", " WORST", " VAIN", " MEASURE"}}
	percent := func(x float64) cell { return cell{fmt.Sprintf("%.0f%%", 100*x), ""} }
	figure := func(x *float64) cell {
		if x == nil {
			return cell{s.none, dim}
		}
		return cell{strings.TrimSuffix(fmt.Sprintf("%.1f", *x), ".0"), ""}
	}
	for _, c := range list {
		f := of(c)
		t.add(cell{thresholdText(c.Warning, c.Unit), ""}, cell{thresholdText(c.Critical, c.Unit), ""}, percent(share(float64(f.Warned), f.Compactions)),
			percent(f.Coverage), percent(f.Used), figure(f.Turns.Median), figure(f.Turns.Worst), figure(f.Minutes.Median), figure(f.Minutes.Worst),
			percent(f.VainShare), cell{fmt.Sprintf("%.2f", f.Measure), ""})
	}
	return t.write(w)
}

func thresholdText(n int64, unit string) string {
	if unit == "percent" || unit == "mixed" && n <= 100 {
		return fmt.Sprintf("%d%%", n)
	}
	return tokensText(n)
}

func (c *candidate) name() string {
	return thresholdText(c.Warning, c.Unit) + " and " + thresholdText(c.Critical, c.Unit)
}

func (g *grid) writeForecast(b *strings.Builder, s glyphs) {
	var parts []string
	for _, f := range g.Forecast {
		if f.Error != nil {
			parts = append(parts, fmt.Sprintf("%d left: %.0f%%, %.0f%%, %d of %d", f.Left, 100**f.Error, 100*f.Within, f.Known, f.Forecasts))
		}
	}
	b.WriteString("\nForecast, by turns left: median error, truth within its range, forecasts made\n  " +
		cmp.Or(strings.Join(parts, "\n  "), s.none+" (it needs three automatic compactions of a model)") + "\n")
}

func (g *grid) writeAdvice(b *strings.Builder) {
	fmt.Fprintf(b, "\nChosen: %s; measure %.2f on the half that chooses", g.Chosen.name(), g.Chosen.Choosing.Measure)
	switch g.Advice {
	case "change":
		fmt.Fprintf(b, ",\nand %.2f against %.2f of %s where they were not chosen. To use them:\n", g.Chosen.Checking.Measure, g.Current.Checking.Measure, g.Current.name())
	case "keep":
		fmt.Fprintf(b, ".\nWhere they were not chosen they are no better than %s: keep those.\nThey would be\n", g.Current.name())
	default:
		b.WriteString(".\nThe other half has no compaction to check them with. To try them:\n")
	}
	b.WriteString("\n" + strings.Join(g.Configuration, "\n") + "\n")
}
