package tune

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sm/alerts"
	"sm/observer/history"
)

// TestMeasure: each part of the measure, by sessions simple enough to work it out by hand.
func TestMeasure(t *testing.T) {
	few := []any{
		"turn",
		20,
		100,
		120,
		"turn",
		128,
		132,
		"turn",
		150,
		"auto",
		30,
	} // warned at 100, 2 turns ahead, 5 replies
	many := []any{"turn", 20, 60, 131, 132, 133, 134, 135, 136, 137, 138, 139, 140, 141, "auto", 30}
	for _, c := range []struct {
		name     string
		sessions [][]any
		t        alerts.Thresholds
		want     Figures
	}{
		{"nothing", nil, alerts.Thresholds{WarningPercentage: 50}, Figures{}},
		{"never said", [][]any{few}, alerts.Thresholds{WarningPercentage: 90}, Figures{Compactions: 1, Open: 1}},
		{"a warning in time", [][]any{few}, alerts.Thresholds{WarningPercentage: 50},
			Figures{
				Compactions: 1,
				Warned:      1,
				Timely:      1,
				Coverage:    1,
				Used:        100. / 160,
				Open:        1,
				Measure:     100. / 160,
				Turns:       Lead{new(2.), new(2.)},
				Replies:     Lead{new(4.), new(4.)},
				Minutes:     Lead{new(7.), new(7.)},
			}},
		{"a warning too late", [][]any{few}, alerts.Thresholds{WarningPercentage: 64},
			Figures{
				Compactions: 1,
				Warned:      1,
				Open:        1,
				Turns:       Lead{new(1.), new(1.)},
				Replies:     Lead{new(2.), new(2.)},
				Minutes:     Lead{new(4.), new(4.)},
			}},
		{"a warning in a long turn", [][]any{many}, alerts.Thresholds{WarningPercentage: 60},
			Figures{
				Compactions: 1,
				Warned:      1,
				Open:        1,
				Turns:       Lead{new(0.), new(0.)},
				Replies:     Lead{new(10.), new(10.)},
				Minutes:     Lead{new(11.), new(11.)},
			}},
		{"a critical notice in a long turn", [][]any{many}, alerts.Thresholds{CriticalPercentage: 60},
			Figures{
				Compactions: 1,
				Warned:      1,
				Timely:      1,
				Coverage:    1,
				Used:        131. / 160,
				Open:        1,
				Measure:     131. / 160,
				Turns:       Lead{new(0.), new(0.)},
				Replies:     Lead{new(10.), new(10.)},
				Minutes:     Lead{new(11.), new(11.)},
			}},
		{"a critical notice too late", [][]any{many}, alerts.Thresholds{CriticalTokens: 132_000},
			Figures{
				Compactions: 1,
				Warned:      1,
				Open:        1,
				Turns:       Lead{new(0.), new(0.)},
				Replies:     Lead{new(9.), new(9.)},
				Minutes:     Lead{new(10.), new(10.)},
			}},
		{"warned in a part that was taken back", [][]any{{
			"turn",
			20,
			"turn",
			120,
			"turn",
			back{1, 20},
			30,
			90,
			"turn",
			"auto",
			30,
		}}, alerts.Thresholds{
			WarningPercentage: 50,
		},
			Figures{Compactions: 1, Open: 1}},
		{"and again behind it", [][]any{{
			"turn",
			20,
			"turn",
			120,
			"turn",
			back{1, 20},
			100,
			"turn",
			"turn",
			"auto",
			30,
		}}, alerts.Thresholds{
			WarningPercentage: 50,
		},
			Figures{
				Compactions: 1,
				Warned:      1,
				Timely:      1,
				Coverage:    1,
				Used:        100. / 160,
				Open:        1,
				Measure:     100. / 160,
				Turns:       Lead{new(2.), new(2.)},
				Replies:     Lead{new(0.), new(0.)},
				Minutes:     Lead{new(3.), new(3.)},
			}},
		{"warned before what was taken back", [][]any{{
			"turn",
			20,
			100,
			"turn",
			120,
			"turn",
			back{2, 100},
			110,
			"auto",
			30,
		}}, alerts.Thresholds{
			WarningPercentage: 50,
		},
			Figures{
				Compactions: 1,
				Warned:      1,
				Timely:      1,
				Coverage:    1,
				Used:        100. / 160,
				Open:        1,
				Measure:     100. / 160,
				Turns:       Lead{new(2.), new(2.)},
				Replies:     Lead{new(2.), new(2.)},
				Minutes:     Lead{new(6.), new(6.)},
			}},
		{"in vain", [][]any{{"turn", 20, 100}, {"turn", 20, 40}}, alerts.Thresholds{WarningPercentage: 50},
			Figures{
				Open:          2,
				Vain:          1,
				VainShare:     0.5,
				Measure:       -0.125,
				StandardError: 0.125,
			}},
		{"by hand", [][]any{{"turn", 20, 100, "manual"}}, alerts.Thresholds{WarningPercentage: 50}, Figures{}},
		{"no reading at all", [][]any{{"turn", "auto"}}, alerts.Thresholds{WarningPercentage: 50}, Figures{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := ladderOf(nil, c.t)
			r := newTrial(t.Context(), alerts.Defaults(), len(c.sessions))
			for i, s := range c.sessions {
				events := handMade(fmt.Sprint(i), s...)
				r.add(l, &history.Timeline{
					Events: events,
					First:  everyEvent(events),
					Open:   true,
					Group:  i,
					Half:   history.Train,
				})
			}
			given, err := r.run(c.t)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, r.measure(given, history.Train), cmpopts.EquateApprox(0, 1e-9)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(Figures{}, r.measure(given, history.Holdout)); d != "" {
				t.Errorf("the other half (-want +got):\n%s", d)
			}
		})
	}
}

func TestKnee(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []int64
		curve []float64
		want  int
	}{
		{"none", nil, nil, -1},
		{"one", []int64{50}, []float64{0.5}, 0},
		{"flat", []int64{50, 60, 70}, []float64{1, 1, 1}, 2},
		{"rising", []int64{50, 60, 70}, []float64{0, 0.5, 1}, 2},
		{"a cliff", []int64{50, 60, 70, 80, 90}, []float64{1, 1, 0.9, 0.1, 0}, 2},
		{"a line", []int64{50, 60, 70}, []float64{1, 0.5, 0}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := knee(c.steps, c.curve); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestChoice(t *testing.T) {
	pair := func(unit string, warning, critical int64, measure, deviation float64) Candidate {
		return Candidate{
			Unit:     unit,
			Warning:  warning,
			Critical: critical,
			Choosing: Figures{Coverage: 1, Measure: measure, StandardError: deviation},
		}
	}
	for _, c := range []struct {
		name  string
		pairs []Candidate
		want  int
	}{
		{"one", []Candidate{pair("percent", 50, 65, 0.5, 0.1)}, 0},
		{"the best of many", []Candidate{pair("percent", 50, 65, 0.5, 0.01), pair("percent", 60, 70, 0.7, 0.01)}, 1},
		{
			"an earlier one as good",
			[]Candidate{pair("percent", 50, 65, 0.65, 0.1), pair("percent", 60, 70, 0.7, 0.1)},
			0,
		},
		{
			"the better warning",
			[]Candidate{
				pair("percent", 50, 65, 0.65, 0.1),
				pair("percent", 60, 65, 0.66, 0.1),
				pair("percent", 60, 70, 0.7, 0.1),
			},
			1,
		},
		{
			"percent where as good",
			[]Candidate{pair("tokens", 60_000, 65_000, 0.7, 0.1), pair("percent", 60, 70, 0.65, 0.1)},
			1,
		},
		{
			"tokens where better",
			[]Candidate{pair("tokens", 60_000, 65_000, 0.7, 0.01), pair("percent", 60, 70, 0.65, 0.1)},
			0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, got, ok := choice(c.pairs)
			if d := cmp.Diff(c.pairs[c.want], got, cmpopts.IgnoreUnexported(Candidate{})); d != "" || !ok {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestForecastsOfARegularSession: of a session that is compacted again and again after as many equal turns, forecasts
// are known from the fourth cycle on, and one turn off.
func TestForecastsOfARegularSession(t *testing.T) {
	var list []any
	for range 8 {
		for size := 20; size < 160; size += 10 {
			list = append(list, "turn", size, size+9)
		}
		list = append(list, "auto")
	}
	f, err := newForecaster(alerts.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	events := handMade("a", list...)
	f.add(events, everyEvent(events))
	for _, x := range f.figures() {
		if x.Forecasts != 8 || x.Known != 5 || *x.Error > 1.25/float64(x.Left) {
			t.Errorf("%d turns left: %d of %d known, off by %.2f", x.Left, x.Known, x.Forecasts, *x.Error)
		}
	}
}
