package report

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
	"sm/observer/history"
	"sm/observer/history/historytest"
	"sm/transcript/transcripttest"
)

func generated(t *testing.T, seed uint64, start time.Time) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := transcripttest.Generate(dir, transcripttest.Options{Seed: seed, Bytes: 8 << 20, LineBytes: 500, Start: start}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// judged are the forecasts of a history.
func judged(t *testing.T, dirs ...string) *forecasts {
	t.Helper()
	f, err := newForecasts(alerts.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if err := historytest.Settled(t, dirs...).InOrder(t.Context(), nil, f.take); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestForecastsOfThePast: what happens later changes no error of earlier forecasts.
func TestForecastsOfThePast(t *testing.T) {
	t.Parallel()
	early := generated(t, 1, time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))
	late := generated(t, 2, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	first, second, both := judged(t, early), judged(t, late), judged(t, early, late)
	for q, left := range forecastsLeft() {
		n := len(first.widths[q])
		if len(both.widths[q]) != n+len(second.widths[q]) {
			t.Fatalf("%d left: %d and %d forecasts, together %d", left, n, len(second.widths[q]), len(both.widths[q]))
		}
		if d := cmp.Diff(first.errors[q], both.errors[q][:n]); d != "" {
			t.Errorf("%d left: earlier errors (-alone +with later ones):\n%s", left, d)
		}
		if d := cmp.Diff(first.widths[q], both.widths[q][:n]); d != "" {
			t.Errorf("%d left: earlier widths (-alone +with later ones):\n%s", left, d)
		}
	}
}

// TestForecastsAsLive: the figures are those of an engine that is told all events by time, and asked after each reply.
func TestForecastsAsLive(t *testing.T) {
	t.Parallel()
	dir := generated(t, 3, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	type told struct {
		alerts.Event
		first bool
	}
	var all []told
	if err := historytest.Settled(t, dir).Each(t.Context(), nil, func(x history.Timeline) {
		for i, ev := range x.Events {
			ev.CompactsAt = x.CompactsAt(&ev)
			all = append(all, told{ev, x.First[i]})
		}
	}); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(all, func(a, b told) int { return a.At.Compare(b.At) })
	engine, err := alerts.New(alerts.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]int{}
	within := map[int]int{}
	cycles := map[alerts.AgentID][]alerts.Range{}
	last := map[alerts.AgentID]int64{}
	for _, ev := range all {
		cycle := cycles[ev.Agent]
		if ev.Kind == alerts.EventCompacted {
			if !ev.first {
				t.Fatal("these sessions have no copies")
			}
			for _, left := range forecastsLeft() {
				if i := len(cycle) - 1 - left; i >= 0 && ev.Trigger == 0 && cycle[i].Known {
					want[left]++
					if cycle[i].Low <= float64(left) && float64(left) <= cycle[i].High {
						within[left]++
					}
				}
			}
			cycles[ev.Agent], last[ev.Agent] = nil, 0
		}
		engine.Step(ev.Event)
		if v, _ := engine.Agent(ev.Agent); ev.Kind == alerts.EventReading && v.Known && v.Tokens != last[ev.Agent] {
			cycles[ev.Agent], last[ev.Agent] = append(cycle, v.Forecast.Replies), v.Tokens
		}
	}
	for _, x := range judged(t, dir).figures() {
		if x.Forecasts == 0 && want[x.Left] == 0 {
			continue
		}
		if x.Forecasts != want[x.Left] || *x.Within != float64(within[x.Left])/float64(want[x.Left]) {
			t.Errorf("%d left: %d forecasts, %.3f within, want %d of %d", x.Left, x.Forecasts, *x.Within, within[x.Left], want[x.Left])
		}
	}
}
