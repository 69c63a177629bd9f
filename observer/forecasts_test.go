package observer

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fastCycles are those of an agent that grows twice as fast as most, more than it takes to calibrate.
func fastCycles(next func() string) (lines []string) {
	for c := range 31 {
		for i := range 14 {
			lines = append(lines, reply(next(), fmt.Sprintf("m%d-%d", c, i), 118_000+3200*i, 10))
		}
		lines = append(lines, boundary(next(), fmt.Sprint("b", c), "auto", 160_000))
	}
	return lines
}

// TestForecastsOfTheFirstStart: past cycles that the first start finds calibrate the forecasts of others, now and after a
// restart.
func TestForecastsOfTheFirstStart(t *testing.T) {
	checkAppLeaks(t)
	r := newWatched(t)
	r.o.Alerts.CompactionThreshold = 160_000
	now := time.Now().Add(-2 * time.Hour)
	next := func() string { now = now.Add(10 * time.Second); return stamp(now) }
	r.write(uuid(2), reply(next(), "other", 60_000, 10))
	r.write(uuid(1), append(fastCycles(next), reply(next(), "last", 60_000, 10))...)
	r.start()
	r.until("both are known", func() bool { return len(r.sessions()) == 2 })
	taught := r.session(uuid(2)).Forecast.Replies
	if usual := 100_000 / 1600.0; taught.Likely > 0.8*usual {
		t.Errorf("%+v, though an agent grows by 3,200 tokens a reply", taught)
	}
	restarts()["killed"](r)
	r.start()
	if d := cmp.Diff(taught, r.session(uuid(2)).Forecast.Replies); d != "" {
		t.Errorf("after a kill (-before +after):\n%s", d)
	}
	r.stop()
}

// TestForecastsOverRestarts: what the cycles of one agent have taught holds for another one, and after each kind of restart.
func TestForecastsOverRestarts(t *testing.T) {
	checkAppLeaks(t)
	r := newWatched(t)
	r.o.Alerts.CompactionThreshold = 160_000
	r.start()
	now := time.Now().Add(-2 * time.Hour)
	next := func() string { now = now.Add(10 * time.Second); return stamp(now) }
	r.write(uuid(1), reply(next(), "first", 30_000, 10))
	r.write(uuid(2), reply(next(), "other", 60_000, 10))
	r.until("both are known", func() bool { return len(r.sessions()) == 2 })
	first := r.session(uuid(2)).Forecast.Replies
	r.write(uuid(1), append(fastCycles(next), reply(next(), "last", 60_000, 10))...)
	r.until("all is read", func() bool {
		s := r.session(uuid(1))
		return s.Compactions.Auto == 31 && s.TokensUsed != nil && *s.TokensUsed == 60_000
	})
	taught := r.session(uuid(2)).Forecast.Replies
	if taught.Likely > 0.8*first.Likely || taught.High-taught.Low > 0.8*(first.High-first.Low) {
		t.Errorf("first %+v, later %+v", first, taught)
	}
	for _, name := range []string{"stopped", "killed"} { // in this order: what a kill leaves unstored is history then
		restarts()[name](r)
		r.start()
		if d := cmp.Diff(taught, r.session(uuid(2)).Forecast.Replies); d != "" {
			t.Errorf("after it was %s (-before +after):\n%s", name, d)
		}
	}
	r.stop()
}
