package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"sm/cmd/sm/internal/term"
	"sm/dashboards/screen"
	"sm/observer/history/report"
)

// leadOf is the sentence that a report begins with: what compactions cost, and how handoffs compare; "" without any.
func leadOf(c *report.Costs) string {
	if c.Compactions.Count == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"%s cost %s tokens",
		counted(c.Compactions.Count, "compaction"),
		screen.Tokens(c.Compactions.Dropped),
	)
	if c.Compactions.Seconds > 0 {
		b.WriteString(" and " + lasted(c.Compactions.Seconds))
	}
	if c.Compactions.Reads > 0 {
		fmt.Fprintf(&b, "; %d%% of the reads after %s were repeats", share(&c.Compactions), map[bool]string{
			true:  "it",
			false: "them",
		}[c.Compactions.Count == 1])
		for _, other := range []struct {
			name string
			cost *report.Cost
		}{{"handoffs", &c.Handoffs}, {"clears", &c.Clears}} {
			if other.cost.Reads > 0 {
				fmt.Fprintf(&b, "; %s: %d%%", other.name, share(other.cost))
			}
		}
	}
	return b.String() + "."
}

// share is how many of a hundred reads were repeats.
func share(c *report.Cost) int { return (100*c.Rereads + c.Reads/2) / c.Reads }

// lasted writes a time in at most two units.
func lasted(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", seconds)
	case d < time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	if d >= 100*time.Hour {
		return fmt.Sprintf("%.0f h", d.Hours())
	}
	minutes := int64(d.Round(time.Minute) / time.Minute)
	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}

// writeCosts prints what boundaries cost, of all and by project, and which files were read again.
func (to *Printer) writeCosts(b *strings.Builder, r *report.Report) {
	g := to.Glyphs
	t := term.Table{
		Headers: []string{
			"COST OF",
			" COUNT",
			" FOLLOWED",
			" READS",
			" AGAIN",
			" TOKENS AGAIN",
			" DROPPED",
			" TIME",
		},
		Colour: to.Colour,
	}
	add := func(name string, c *report.Cost) {
		if c.Count == 0 {
			return
		}
		t.Add(
			name,
			g.count(c.Count),
			g.count(c.Followed),
			g.count(c.Reads),
			g.count(c.Rereads),
			g.figure(c.Tokens, screen.Tokens),
			g.figure(c.Dropped, screen.Tokens),
			g.figure(c.Seconds, lasted),
		)
	}
	add("compactions", &r.Costs.Compactions)
	add("handoffs", &r.Costs.Handoffs)
	add("clears", &r.Costs.Clears)
	if len(r.ProjectCosts) > 1 {
		for i := range r.ProjectCosts[:min(len(r.ProjectCosts), reportRows)] {
			p := &r.ProjectCosts[i]
			add("in "+g.short(cmp.Or(p.Name, "(unknown)"), 14), &p.Compactions)
		}
	}
	b.WriteString(t.String())
	to.writeFiles(b, r)
}

// writeFiles prints the files most often read again, and what knowing them would have saved.
func (to *Printer) writeFiles(b *strings.Builder, r *report.Report) {
	if len(r.RereadFiles) == 0 {
		return
	}
	if r.RereadFiles[0].Name == "" {
		fmt.Fprintf(
			b,
			"\n%s brought %s tokens back after compactions; --files names them\n",
			counted(len(r.RereadFiles), "file"),
			screen.Tokens(r.Saved.ByFiles),
		)
	} else {
		fmt.Fprintf(
			b,
			"\nMost often read again after compactions: put these into your handoff document or CLAUDE.md\n",
		)
		for _, f := range r.RereadFiles {
			fmt.Fprintf(
				b,
				"  %4d times, %5s tokens  %s\n",
				f.Rereads,
				screen.Tokens(f.Tokens),
				to.Glyphs.short(f.Project+": "+f.Name, 50),
			)
		}
	}
	if r.Saved.ByHandoffs != nil {
		fmt.Fprintf(
			b,
			"Handoffs instead would have saved %s of the %s tokens that were read again\n",
			screen.Tokens(*r.Saved.ByHandoffs),
			screen.Tokens(r.Costs.Compactions.Tokens),
		)
	}
}
