package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
	"sm/observer/history/report"
	"sm/transcript/transcripttest"
)

// output runs a command that must succeed, without a locale and a configuration.
func output(t *testing.T, args ...string) []byte {
	t.Helper()
	return outputIn(t, nil, args...)
}

// outputIn runs it with these variables.
func outputIn(t *testing.T, vars map[string]string, args ...string) []byte {
	t.Helper()
	got := execute(t, vars, args...)
	if got.Code != exitDone {
		t.Fatalf("exit code %d: %s", got.Code, got.ErrOut)
	}
	return []byte(got.Out)
}

func reported(t *testing.T, paths ...string) (r report.Report) {
	t.Helper()
	if err := json.Unmarshal(
		output(t, append([]string{"report", "--json"}, paths...)...),
		&r,
	); err != nil {
		t.Fatal(err)
	}
	addsUp(t, &r)
	return r
}

func addCompactions(to *api.Compactions, c api.Compactions) {
	to.Auto += c.Auto
	to.Manual += c.Manual
	to.Idle += c.Idle
	to.Unknown += c.Unknown
}

// addsUp checks that rows, histograms and unknowns of a report give its totals.
func addsUp(t *testing.T, r *report.Report) {
	t.Helper()
	total := report.Row{Sessions: r.Sessions, Turns: r.Turns, Compactions: r.Compactions}
	billed := 0
	for _, p := range r.ProjectCosts {
		billed += p.Compactions.Count
	}
	for name, rows := range map[string][]report.Row{
		"projects": r.Projects,
		"models":   r.Models,
		"months":   r.Months,
	} {
		sum := report.Row{}
		for _, row := range rows {
			sum.Sessions, sum.Turns = sum.Sessions+row.Sessions, sum.Turns+row.Turns
			addCompactions(&sum.Compactions, row.Compactions)
		}
		if d := cmp.Diff(total, sum); d != "" {
			t.Errorf("%s (-total +sum):\n%s", name, d)
		}
	}
	for name, d := range map[string]report.Distribution{
		"pre":        r.Pre,
		"manual":     r.ManualPre,
		"post":       r.Post,
		"percentage": r.PostPercentage,
		"turns":      r.TurnsPerCycle,
	} {
		sum := 0
		for i, b := range d.Histogram {
			sum += b.Count
			if i > 0 && b.From != d.Histogram[i-1].To {
				t.Errorf("%s: a gap before %d", name, b.From)
			}
		}
		if sum != d.Known || len(d.Histogram) > report.MaxBins {
			t.Errorf("%s: %d in %d bins of %d known", name, sum, len(d.Histogram), d.Known)
		}
	}
	c := r.Compactions
	want := []int{c.Auto + c.Unknown, c.Manual, c.Total(), c.Total(), c.Total(), c.Total(), c.Total()}
	got := []int{
		r.Pre.Known + r.Pre.Unknown, r.ManualPre.Known + r.ManualPre.Unknown, r.Post.Known + r.Post.Unknown,
		r.PostPercentage.Known + r.PostPercentage.Unknown, r.TurnsPerCycle.Known + r.TurnsPerCycle.Unknown,
		billed, r.Costs.Compactions.Count,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("compactions in the distributions (-want +got):\n%s", d)
	}
}

// TestReportAgreesWithScan tests over fleets with forks, resumes, subagents and all
// peculiarities that a report has the compactions of a scan and of the generator.
func TestReportAgreesWithScan(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := t.TempDir()
			truth, err := transcripttest.Generate(dir, transcripttest.Options{
				Seed:      4200 + seed,
				Traps:     true,
				Copies:    true,
				Subagents: true,
			})
			noErrors(t, err)
			want := map[string]report.Row{}
			for _, s := range scanJSON(t, dir) {
				row := want[s.Project]
				row.Sessions++
				addCompactions(&row.Compactions, s.Compactions)
				want[s.Project] = row
			}
			r := reported(t, dir)
			got := map[string]report.Row{}
			for _, row := range r.Projects {
				got[row.Name] = report.Row{
					Sessions:    row.Sessions,
					Compactions: row.Compactions,
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("projects (-scan +report):\n%s", d)
			}
			if r.Compactions.Total() != truth.DistinctCompactions &&
				!wholeEnds(t, dir, truth) {
				t.Errorf(
					"%d compactions, want %d",
					r.Compactions.Total(),
					truth.DistinctCompactions,
				)
			}
		})
	}
}
