package tune

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
	"sm/observer/history"
	"sm/transcript"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	// Measures of the pairs 50 / 65 %, which is configured, and 60 / 70 %.
	for _, c := range []struct {
		name            string
		compactions     int
		current, better float64
		want            Advice
	}{
		{"better", 25, 0.5, 0.65, AdviceChange},
		{"better by chance", 25, 0.5, 0.59, AdviceKeep},
		{"worse", 25, 0.5, 0.2, AdviceKeep},
		{"never in time", 25, 0, 0, AdviceNone},
		{"few", Enough - 1, 0.1, 0.9, AdviceTooFew},
		{"enough", Enough, 0.1, 0.9, AdviceChange},
	} {
		measured := func(warning, critical int, measure float64) Candidate {
			p := NewCandidate(thresholds(inPercent, int64(warning), int64(critical)))
			p.Compactions = c.compactions
			p.Measure = measure
			p.StandardError = 0.1
			if measure > 0 {
				p.Timely = 1
			}
			return p
		}
		g := Grid{Current: measured(50, 65, c.current)}
		g.Pairs = []Candidate{g.Current, measured(60, 70, c.better)}
		g.choose(g.Current.thresholds)
		if g.Advice != c.want || (g.Configuration != nil) != (c.want == AdviceChange) {
			t.Errorf("%s: %s, lines %q; want %s", c.name, g.Advice, g.Configuration, c.want)
		}
	}
}

// TestMinutesOfWork tests that a pause counts as at most five minutes.
func TestMinutesOfWork(t *testing.T) {
	events := handMade("a", "turn 20 110 turn 120 auto")
	for i := 3; i < len(events); i++ {
		events[i].At = events[i].At.Add(2 * 60 * 60e9)
	}
	half := alerts.Thresholds{WarningPercentage: 50}
	r := trialOf(t, ladderOf(nil, half))
	r.add(&history.Timeline{Events: events, First: everyEvent(events)})
	if f := r.measure(r.pairOf(half)); *f.Minutes.Median != 5+2 {
		t.Errorf("%v minutes, want 5 of the pause and 2", *f.Minutes.Median)
	}
}

// TestHolds tests that the truth is in the range of a forecast, with and without the
// compaction's own turn.
func TestHolds(t *testing.T) {
	for _, c := range []struct {
		low, high, left float64
		want            bool
	}{
		{4, 6, 5, true},
		{4, 6, 3.9, false},
		{4, 6, 7, true},
		{4, 6, 7.1, false},
		{0, 0, 1, true},
		{0, 0, 3, false},
	} {
		if got := holds(alerts.Range{
			Low:   c.low,
			High:  c.high,
			Known: true,
		}, c.left); got != c.want {
			t.Errorf("%v..%v holds %v: %t", c.low, c.high, c.left, got)
		}
	}
}

// TestForecastOfCopies tests that a compaction that a fork has copied was forecast once.
func TestForecastOfCopies(t *testing.T) {
	r := trialOf(t, nil)
	events := handMade("a", "turn 20 turn 40 turn 60 auto turn 30 turn 50 auto")
	first := everyEvent(events)
	first[6] = false
	r.add(&history.Timeline{Events: events, First: first})
	asked := 0
	for _, x := range r.forecast.figures() {
		asked += x.Forecasts
	}
	if asked != 1 || events[6].Trigger != transcript.Auto {
		t.Errorf("got %d forecasts, want 1", asked)
	}
}

// TestConfigurationLines tests that the lines take effect with any configuration, and that a
// missing threshold is off.
func TestConfigurationLines(t *testing.T) {
	percent := alerts.Thresholds{WarningPercentage: 60, CriticalPercentage: 65}
	for _, c := range []struct {
		configured alerts.Thresholds
		want       []string
	}{
		{alerts.Defaults().Thresholds, nil},
		{alerts.Thresholds{CriticalTokens: 1}, []string{"  critical_tokens: 0"}},
		{alerts.Thresholds{
			WarningTokens:  1,
			CriticalTokens: 1,
		}, []string{"  warning_tokens: 0", "  critical_tokens: 0"}},
	} {
		want := append(
			[]string{
				"context_monitor:",
				"  warning_percentage: 60",
				"  critical_percentage: 65",
			},
			c.want...,
		)
		if d := cmp.Diff(want, ConfigurationOf(percent, c.configured)); d != "" {
			t.Errorf("%+v (-want +got):\n%s", c.configured, d)
		}
	}
}
