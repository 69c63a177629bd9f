package tune

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
	"sm/observer/history"
	"sm/transcript"
)

func TestAdvise(t *testing.T) {
	for line := range strings.Lines(`55 60 9 1, 50 65 9 0.5, 0.1 0.05 change better
55 60 9 1, 50 65 9 0.5, 0.05 0.05 unclear by chance
55 60 9 1, 50 65 9 0.5, -0.1 0.05 keep worse
55 60 9 1, 50 65 9 1, 0 0 keep as good
50 65 9 1, 50 65 9 1, 0 0 keep the same
50 65 0 0, 50 65 0 0, 0 0 keep the same, unchecked
55 60 4 1, 50 65 4 0, 0.5 0.05 unchecked few to check with
55 60 5 1, 50 65 5 0, 0.5 0.05 change enough to check with
55 60 0 0, 50 65 0 0, 0 0 unchecked none to check with
55 60 9 0, 50 65 9 0, 0.02 0.01 none never in time
55 60 9 0, 50 65 9 0.2, -0.1 0.01 keep in time only now
`) {
		var chosen, current Candidate
		var d Difference
		var want Advice
		a := &chosen.thresholds
		ca := &chosen.Checking
		b := &current.thresholds
		cb := &current.Checking
		_, err := fmt.Sscanf(line, "%d %d %d %g, %d %d %d %g, %g %g %s",
			&a.WarningPercentage, &a.CriticalPercentage, &ca.Compactions, &ca.Coverage,
			&b.WarningPercentage, &b.CriticalPercentage, &cb.Compactions, &cb.Coverage,
			&d.Measure, &d.StandardError, &want)
		if err != nil {
			t.Fatal(err)
		}
		if got := advise(&chosen, &current, d); got != want {
			t.Errorf("%s got %q, want %q", line, got, want)
		}
	}
}

// TestMinutesOfWork: a pause counts as five minutes at most.
func TestMinutesOfWork(t *testing.T) {
	events := handMade("a", "turn 20 110 turn 120 auto")
	for i := 3; i < len(events); i++ {
		events[i].At = events[i].At.Add(2 * 60 * 60e9)
	}
	half := alerts.Thresholds{WarningPercentage: 50}
	r := trialOf(t, ladderOf(nil, half), 1)
	r.add(&history.Timeline{
		Events: events,
		First:  everyEvent(events),
		Half:   history.Train,
	})
	if f := r.measure(r.pairOf(half), history.Train); *f.Minutes.Median != 5+2 {
		t.Errorf("%v minutes, want 5 of the pause and 2", *f.Minutes.Median)
	}
}

// TestHolds: the truth is in the range of a forecast, with and without the
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

// TestClustered: the cycles of one session have a larger error than as many of different
// ones.
func TestClustered(t *testing.T) {
	apart := []cluster{{
		compactions: 1,
		won:         1,
	}, {
		compactions: 1,
		won:         1,
	}, {
		compactions: 1,
	}, {
		compactions: 1,
	}}
	alike := []cluster{{compactions: 2, won: 2}, {compactions: 2}}
	a, _ := standardError(apart)
	b, _ := standardError(alike)
	if want := math.Sqrt(4. / 3 * 4 * 0.125 * 0.125); math.Abs(a-want) > 1e-9 ||
		math.Abs(b-0.5) > 1e-9 {
		t.Errorf("%v apart and %v in two sessions, want %v and 0.5", a, b, want)
	}
	if _, known := standardError(alike[:1]); known {
		t.Error("one session has a standard error")
	}
}

// TestForecastOfCopies: of a compaction that a fork has copied forecasts were made once.
func TestForecastOfCopies(t *testing.T) {
	r := trialOf(t, nil, 1)
	events := handMade("a", "turn 20 turn 40 turn 60 auto turn 30 turn 50 auto")
	first := everyEvent(events)
	first[6] = false
	r.add(&history.Timeline{Events: events, First: first})
	asked := 0
	for _, x := range r.forecast.figures() {
		asked += x.Forecasts
	}
	if asked != 1 || events[6].Trigger != transcript.Auto {
		t.Errorf("asked %d times, want once", asked)
	}
}

// TestConfigurationLines: they take effect whatever is configured, and a
// threshold that is not there is off.
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
