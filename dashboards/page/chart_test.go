package page

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCycles: the curve is cut where a cycle begins, also where a mark alone says so.
func TestCycles(t *testing.T) {
	h := History{
		Points: []Point{{10, 5, false}, {20, 9, false}, {30, 2, false}, {40, 3, true}, {50, 4, false}},
		Marks:  []Mark{{15, "warning", "", 0}, {25, "compaction", "auto", 9}, {35, "handoff", "", 3}},
	}
	if diff := cmp.Diff([]cycle{{0, 2}, {2, 3}, {3, 5}}, h.cycles(), cmp.AllowUnexported(cycle{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMarksStandOnTheCurve: a notice of a context that is unknown stands where the context was, and not at 0.
func TestMarksStandOnTheCurve(t *testing.T) {
	h := &History{
		Points: []Point{{100, 50_000, false}, {200, 100_000, false}, {300, 20_000, true}},
		Marks:  []Mark{{50, "storm", "", 0}, {250, "storm", "", 0}, {250, "clear", "", 0}, {200, "warning", "", 100_000}},
	}
	var got []string
	for _, m := range chartOf(&Row{Window: 200_000}, h, time.UTC).Marks {
		got = append(got, m.Class+" "+m.Y)
	}
	if diff := cmp.Diff([]string{"storm 50%", "clear 100%", "warning 50%"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSparkScale: two sparklines can be compared: their height is the window.
func TestSparkScale(t *testing.T) {
	h := History{Points: []Point{{10, 20_000, false}, {20, 28_000, false}}}
	s := sparkOf(&Row{Window: 200_000, Threshold: 100_000}, &h)
	if want := "M0 88.4L100 84.6"; s.Now != want || s.Limit != "50" {
		t.Errorf("%q and %q, want %q and 50", s.Now, s.Limit, want)
	}
}

// TestSparkIsOfFewCycles: of many cycles the last ones are drawn, so that they can be told apart.
func TestSparkIsOfFewCycles(t *testing.T) {
	var h History
	for i := range int64(20) {
		h.Points = append(h.Points, Point{100 * i, 20_000, i > 0}, Point{100*i + 60, 160_000, false})
	}
	s := sparkOf(&Row{Window: 200_000}, &h)
	if n := len(s.Breaks); n != sparkCycles-1 || strings.Count(s.Earlier, "M") != sparkCycles-1 || !strings.HasPrefix(s.Earlier, "M0 ") {
		t.Errorf("%d breaks, %q", n, s.Earlier)
	}
}

// TestChartTime: the times below a curve are round and name the day at first and where it changes.
func TestChartTime(t *testing.T) {
	for _, c := range []struct {
		from, to int64
		want     []string
	}{
		{noon - 7, noon + 65, []string{"12:00:00 Mar 2", "12:00:30", "12:01:00"}},
		{noon, noon + 3600, []string{"12:00 Mar 2", "12:30", "13:00"}},
		{noon + 1, noon + 10, []string{"12:00:05 Mar 2", "12:00:10"}},
		{noon + 60, noon + 24*3600, []string{"18:00 Mar 2", "00:00 Mar 3", "06:00", "12:00"}},
		{noon, noon + 4*24*3600, []string{"00:00 Mar 3", "00:00 Mar 4", "00:00 Mar 5", "00:00 Mar 6"}},
	} {
		var got []string
		for _, r := range times(c.from, c.to, time.UTC) {
			got = append(got, strings.TrimSpace(r.Text+" "+r.Day))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%d s (-want +got):\n%s", c.to-c.from, diff)
		}
	}
}
