package view

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"sm/alerts"
	"sm/observer/history/report"
	"sm/observer/history/tune"
)

// FuzzHistogram tests that a histogram of any figures fits a terminal.
func FuzzHistogram(f *testing.F) {
	f.Add(uint64(1), 10, int64(200_000), int64(10_000))
	f.Add(uint64(2), 1, int64(0), int64(1))
	f.Add(uint64(3), 3, int64(1)<<40, int64(1))
	f.Fuzz(func(t *testing.T, seed uint64, n int, most, width int64) {
		if n < 0 || n > 1000 || most < 0 || most > 1<<50 || width < 1 || width > 1<<40 {
			t.Skip()
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		figures := make([]int64, n)
		for i := range figures {
			figures[i] = rng.Int64N(most + 1)
		}
		d := report.DistributionOf(slices.Clone(figures), len(figures), width)
		for _, g := range []Glyphs{GlyphsOf(os.LookupEnv), {full: "#", Dash: "-"}} {
			for line := range strings.Lines(g.histogram("tokens", d.Histogram)) {
				if utf8.RuneCountInString(line) > 80 {
					t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
				}
			}
		}
	})
}

// TestRows tests that the chosen pair is in the table although another pair with its warning
// is better.
func TestRows(t *testing.T) {
	t.Parallel()
	pair := func(warning, critical int, measure float64) tune.Candidate {
		c := tune.NewCandidate(alerts.Thresholds{
			WarningPercentage:  warning,
			CriticalPercentage: critical,
		})
		c.Measure = measure
		return c
	}
	g := tune.Grid{
		Pairs: []tune.Candidate{
			pair(50, 55, 0.5),
			pair(50, 60, 0.6),
			pair(50, 65, 0.7),
			pair(55, 60, 0.6),
			pair(55, 65, 0.4),
		},
	}
	for _, c := range []struct{ chosen, first, second int }{
		{0, 0, 3},
		{1, 1, 3},
		{2, 2, 3},
		{3, 2, 3},
		{4, 2, 4},
	} {
		g.Chosen = &g.Pairs[c.chosen]
		rows := candidateRows(&g)
		if len(rows) != 2 || rows[0] != &g.Pairs[c.first] || rows[1] != &g.Pairs[c.second] {
			t.Errorf("chosen %+v: rows %+v", g.Chosen, rows[0])
		}
	}
}

// TestLead tests that without a figure of what was read again the sentence names the time
// only, if files were read again at the end of a session, or no reading of a file is known.
func TestLead(t *testing.T) {
	t.Parallel()
	r := &report.Report{Spent: report.Spent{Seconds: 9}}
	r.Compactions.Auto = 1
	to := &Printer{Glyphs: Glyphs{None: "-"}}
	for _, c := range []struct {
		reads, rereads int
		lead, tokens   string
	}{
		{0, 0, "1 compaction took 9 s.", "-"},
		{3, 0, "1 compaction took 9 s; no file was read again after it.", "0"},
		{3, 1, "1 compaction took 9 s.", "0"},
	} {
		r.Costs.Compactions = report.Cost{Count: 1, Reads: c.reads, AllRereads: c.rereads}
		row := strings.Fields(to.text("costs", r))
		if got := to.text("lead", r); got != c.lead || row[len(row)-3] != c.tokens {
			t.Errorf("%d reads, %d rereads: got %q and %q", c.reads, c.rereads, got, row)
		}
	}
}

// TestOtherThresholds tests that if few compactions were announced in time, the pair that
// announces most is named, wherever it is in the list.
func TestOtherThresholds(t *testing.T) {
	t.Parallel()
	g := tune.Grid{Advice: tune.AdviceKeep}
	for _, timely := range []int{20, 21, 16} {
		c := tune.NewCandidate(alerts.Thresholds{WarningTokens: 50_000, CriticalTokens: 75_000})
		if timely == 20 {
			c = tune.NewCandidate(alerts.Thresholds{WarningPercentage: 30, CriticalPercentage: 35})
		}
		c.Compactions = 43
		c.Timely = timely
		g.Pairs = append(g.Pairs, c)
	}
	g.Current = g.Pairs[2]
	got := (&Printer{Columns: 80}).text("verdict", &g)
	if want := "announce up to 21 (50k / 75k)"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q in it", got, want)
	}
}
