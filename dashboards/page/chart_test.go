package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
	"sm/observer/curve"
)

// TestCycles tests that the curve is cut at the start of a cycle, also at a mark without
// points.
func TestCycles(t *testing.T) {
	h := curve.History{
		Points: []curve.Point{
			point(10, 5),
			point(20, 9),
			point(30, 2),
			first(40, 3),
			point(50, 4),
		},
		Marks: []curve.Mark{
			mark(15, "warning", "", 0),
			mark(25, "compaction", "auto", 9),
			mark(35, "handoff", "", 3),
		},
	}
	if diff := cmp.Diff(
		[]cycle{{0, 2}, {2, 3}, {3, 5}},
		cyclesOf(&h),
		cmp.AllowUnexported(cycle{}),
	); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMarksStandOnTheCurve tests that a notice of an unknown context is drawn at the height
// of the curve, and not at 0.
func TestMarksStandOnTheCurve(t *testing.T) {
	h := &curve.History{
		Points: []curve.Point{point(100, 50_000), point(200, 100_000), first(300, 20_000)},
		Marks: []curve.Mark{
			mark(50, "storm", "", 0),
			mark(250, "storm", "", 0),
			mark(250, "clear", "", 0),
			mark(200, "warning", "", 100_000),
		},
	}
	var got []string
	c := chartOf(&api.Session{WindowTokens: 200_000}, h, time.UTC)
	for _, m := range h.Marks {
		got = append(got, fmt.Sprint(m.Kind, " ", c.SizeAt(&m)))
	}
	if diff := cmp.Diff(
		[]string{"storm 0", "storm 100000", "clear 0", "warning 100000"},
		got,
	); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSparkScale tests that sparklines are comparable: their height is the window.
func TestSparkScale(t *testing.T) {
	h := curve.History{Points: []curve.Point{point(10, 20_000), point(20, 28_000)}}
	s := sparkOf(&api.Session{
		WindowTokens:    200_000,
		ThresholdTokens: new(int64(100_000)),
	}, &h)
	if want := "M0 88L100 85"; s.Now != want || s.Limit != "50" {
		t.Errorf("%q and %q, want %q and 50", s.Now, s.Limit, want)
	}
}

// TestSparkIsOfFewCycles tests that only the last of many cycles are drawn.
func TestSparkIsOfFewCycles(t *testing.T) {
	var h curve.History
	for i := range int64(20) {
		h.Points = append(h.Points, curve.Point{
			At:     100 * i,
			Tokens: 20_000,
			First:  i > 0,
		}, point(100*i+60, 160_000))
	}
	s := sparkOf(&api.Session{WindowTokens: 200_000}, &h)
	if n := len(s.Breaks); n != sparkCycles-1 ||
		strings.Count(s.Earlier, "M") != sparkCycles-1 ||
		!strings.HasPrefix(s.Earlier, "M0 ") {
		t.Errorf("%d breaks, %q", n, s.Earlier)
	}
}

// TestChartTime tests that the times below a curve are round, and name the day at the start
// and where it changes.
func TestChartTime(t *testing.T) {
	for _, c := range []struct {
		from, to int64
		want     []string
	}{
		{noon - 7, noon + 65, []string{"12:00:00 Mar 2", "12:00:30", "12:01:00"}},
		{noon, noon + 3600, []string{"12:00 Mar 2", "12:30", "13:00"}},
		{noon + 1, noon + 10, []string{"12:00:05 Mar 2", "12:00:10"}},
		{noon + 60, noon + 24*3600, []string{"18:00 Mar 2", "00:00 Mar 3", "06:00", "12:00"}},
		{
			noon,
			noon + 4*24*3600,
			[]string{"00:00 Mar 3", "00:00 Mar 4", "00:00 Mar 5", "00:00 Mar 6"},
		},
		{noon, noon + 200*24*3600, []string{"00:00 May 27", "00:00 Sep 4"}},
	} {
		var got []string
		for _, r := range (&plane{From: c.from, To: c.to, zone: time.UTC}).Times() {
			got = append(got, strings.TrimSpace(r.Text+" "+r.Day))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%d s (-want +got):\n%s", c.to-c.from, diff)
		}
	}
}
