package tune

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sm/alerts"
	"sm/observer/history"
)

// TestMeasure tests each part of the measure with sessions simple enough to compute by hand.
func TestMeasure(t *testing.T) {
	const (
		few  = "turn 20 100 120 turn 128 132 turn 150 auto 30" // warned at 100, 2 turns ahead, 5 replies
		many = "turn 20 60 131 132 133 134 135 136 137 138 139 140 141 auto 30"
	)
	warning := func(percent int) alerts.Thresholds {
		return alerts.Thresholds{
			WarningPercentage: percent,
		}
	}
	for _, c := range []struct {
		name     string
		sessions string // divided by semicolons
		t        alerts.Thresholds
		want     string // the Figures that are not zero
	}{
		{"nothing", "", warning(50), `{}`},
		{"no notice", few, warning(90), `{"compactions": 1, "open_cycles": 1}`},
		{"a warning in time", few, warning(50), `{"compactions": 1, "warned": 1, "timely": 1, "coverage": 1,
			"used": 0.625, "open_cycles": 1, "measure": 0.625, "turns_ahead": {"median": 2, "worst": 2},
			"replies_ahead": {"median": 4, "worst": 4}, "minutes_ahead": {"median": 7, "worst": 7}}`},
		{"a warning too late", few, warning(64), `{"compactions": 1, "warned": 1, "open_cycles": 1,
			"turns_ahead": {"median": 1, "worst": 1}, "replies_ahead": {"median": 2, "worst": 2},
			"minutes_ahead": {"median": 4, "worst": 4}}`},
		{"a warning in a long turn", many, warning(60), `{"compactions": 1, "warned": 1, "open_cycles": 1,
			"turns_ahead": {"median": 0, "worst": 0}, "replies_ahead": {"median": 10, "worst": 10},
			"minutes_ahead": {"median": 11, "worst": 11}}`},
		{"a critical notice in a long turn", many, alerts.Thresholds{
			CriticalPercentage: 60,
		}, `{"compactions": 1,
			"warned": 1, "timely": 1, "coverage": 1, "used": 0.81875, "open_cycles": 1, "measure": 0.81875,
			"turns_ahead": {"median": 0, "worst": 0}, "replies_ahead": {"median": 10, "worst": 10},
			"minutes_ahead": {"median": 11, "worst": 11}}`},
		{"a critical notice too late", many, alerts.Thresholds{
			CriticalTokens: 132_000,
		}, `{"compactions": 1,
			"warned": 1, "open_cycles": 1, "turns_ahead": {"median": 0, "worst": 0},
			"replies_ahead": {"median": 9, "worst": 9}, "minutes_ahead": {"median": 10, "worst": 10}}`},
		{
			"a warning in a rewound part",
			"turn 20 turn 120 turn back:1:20 30 90 turn auto 30",
			warning(50),
			`{"compactions": 1, "open_cycles": 1}`,
		},
		{"and again after it", "turn 20 turn 120 turn back:1:20 100 turn turn auto 30", warning(50), `{
			"compactions": 1, "warned": 1, "timely": 1, "coverage": 1, "used": 0.625, "open_cycles": 1,
			"measure": 0.625, "turns_ahead": {"median": 2, "worst": 2}, "replies_ahead": {"median": 0, "worst": 0},
			"minutes_ahead": {"median": 3, "worst": 3}}`},
		{"a warning before a rewound part", "turn 20 100 turn 120 turn back:2:100 110 auto 30", warning(50), `{
			"compactions": 1, "warned": 1, "timely": 1, "coverage": 1, "used": 0.625, "open_cycles": 1,
			"measure": 0.625, "turns_ahead": {"median": 2, "worst": 2}, "replies_ahead": {"median": 2, "worst": 2},
			"minutes_ahead": {"median": 6, "worst": 6}}`},
		{"in vain", "turn 20 100; turn 20 40", warning(50), `{"open_cycles": 2, "warned_in_vain": 1,
			"vain_share": 0.5, "measure": -0.125}`},
		{"by hand", "turn 20 100 manual", warning(50), `{}`},
		{"no reading at all", "turn auto", warning(50), `{}`},
	} {
		var want Figures
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		sessions := strings.Split(c.sessions, ";")
		r := trialOf(t, ladderOf(nil, c.t))
		for i, s := range sessions {
			if events := handMade(fmt.Sprint(i), s); len(events) > 0 {
				r.add(&history.Timeline{
					Events: events,
					First:  everyEvent(events),
					Open:   true,
				})
			}
		}
		if d := cmp.Diff(
			want,
			r.measure(r.pairOf(c.t)),
			cmpopts.EquateApprox(0, 1e-9),
		); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pairs string // unit, warning, critical, measure, compactions announced in time
		want  int
	}{
		"one":                    {"percent 50 65 0.5 1", 0},
		"the best of many":       {"percent 50 65 0.5 1; percent 60 70 0.7 1", 1},
		"an earlier one as good": {"percent 50 65 0.65 1; percent 60 70 0.7 1", 0},
		"the better warning": {
			"percent 50 65 0.65 1; percent 60 65 0.66 1; percent 60 70 0.7 1",
			1,
		},
		"percent where as good": {"tokens 60000 65000 0.7 1; percent 60 70 0.65 1", 1},
		"tokens where better":   {"tokens 60000 65000 0.7 1; percent 60 70 0.55 1", 0},
		"none that never comes": {"percent 30 40 0 0; percent 50 60 0.05 1", 1},
		"none at all":           {"percent 30 40 0 0", -1},
	} {
		var pairs []Candidate
		for text := range strings.SplitSeq(c.pairs, ";") {
			p := Candidate{Figures: Figures{StandardError: 0.1}}
			_, err := fmt.Sscan(text, &p.Unit, &p.Warning, &p.Critical, &p.Measure, &p.Timely)
			if err != nil {
				t.Fatal(err)
			}
			pairs = append(pairs, p)
		}
		var want *Candidate
		if c.want >= 0 {
			want = &pairs[c.want]
		}
		if got := choice(pairs); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

// TestForecastsOfARegularSession tests that for a session that is compacted after equal
// numbers of equal turns, forecasts exist from the fourth cycle on and are one turn off.
func TestForecastsOfARegularSession(t *testing.T) {
	cycle := ""
	for size := 20; size < 160; size += 10 {
		cycle += fmt.Sprintf("turn %d %d ", size, size+9)
	}
	list := strings.Repeat(cycle+"auto ", 8)
	r := trialOf(t, nil)
	events := handMade("a", list)
	r.add(&history.Timeline{Events: events, First: everyEvent(events)})
	for _, x := range r.forecast.figures() {
		if x.Forecasts != 8 || x.Known != 5 || *x.Error > 1.25/float64(x.Left) {
			t.Errorf(
				"%d turns left: %d of %d known, off by %.2f",
				x.Left,
				x.Known,
				x.Forecasts,
				*x.Error,
			)
		}
	}
}
