package history

import (
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/transcripttest"
)

// rules are the conditions of the alerts on pressure in dashboards/prometheus.
type rules struct{ high, imminent, few, least float64 }

func rulesOf(t *testing.T) (r rules) {
	t.Helper()
	text, err := os.ReadFile("../../dashboards/prometheus/sessions.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	number := func(pattern string) float64 {
		m := regexp.MustCompile(pattern).FindStringSubmatch(string(text))
		if m == nil {
			t.Fatalf("no rule has %s", pattern)
		}
		x, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	r.high = number(`alert: AgentContextPressureHigh\n +expr: agent_session_pressure_ratio >= ([\d.]+) `)
	r.imminent = number(`\(agent_session_pressure_ratio >= ([\d.]+) or `)
	r.least = number(` or agent_session_forecast_replies_low < ([\d.]+) `)
	r.few = number(` or agent_session_forecast_replies < ([\d.]+)\)`)
	return r
}

// watch is what Prometheus sees of one agent with scrapes every 15 seconds and evaluations of
// its rules 7 seconds later.
type watch struct {
	rules
	now            time.Time
	holds, scraped [2]bool // the conditions high and imminent: now, and at the last scrape
	fired          [2]bool // in this cycle
	lead           [2]int  // replies since then
	read           bool
	ratio          float64 // the highest of this cycle
}

const scrapeEvery = 15 * time.Second

// until advances the time: a scrape shows the present state, an evaluation the last scrape.
// After a pause of 10 minutes no alert holds.
func (w *watch) until(now time.Time) {
	if w.now.IsZero() {
		w.now = now
	}
	for at := w.now.Truncate(scrapeEvery); at.Before(now) &&
		at.Sub(w.now) < 10*time.Minute; at = at.Add(scrapeEvery) {
		if at.After(w.now) {
			w.scraped = w.holds
		}
		if evaluated := at.Add(7 * time.Second); evaluated.After(w.now) &&
			evaluated.Before(now) {
			for i, holds := range w.scraped {
				w.fired[i] = w.fired[i] || holds
			}
		}
	}
	if now.After(w.now) {
		w.now = now
	}
}

// see takes the engine's view after an event.
func (w *watch) see(v alerts.View, reading bool) {
	if reading {
		w.read = true
		for i, fired := range w.fired {
			if fired {
				w.lead[i]++
			}
		}
	}
	w.ratio = max(w.ratio, v.Ratio)
	replies := v.Forecast.Replies
	known := v.Pressure != alerts.PressureUnknown
	w.holds = [2]bool{
		known && v.Ratio >= w.high,
		known &&
			(v.Ratio >= w.imminent ||
				replies.Known && (replies.Low < w.least || replies.Likely < w.few)),
	}
}

// warned counts automatic compactions where the threshold was known within a tenth, and those
// before which an alert fired at least two replies ahead.
type warned struct{ known, high, imminent int }

func (n *warned) compacted(w *watch) {
	if !w.read || w.ratio < 0.9 { // the client compacts at another threshold
		return
	}
	n.known++
	if w.lead[0] >= 2 {
		n.high++
	}
	if w.lead[1] >= 2 {
		n.imminent++
	}
}

// warnings replays all sessions of some folders, each as one agent of a client with default
// settings.
func warnings(t *testing.T, dirs ...string) (n warned) {
	t.Helper()
	limits := rulesOf(t)
	for _, dir := range dirs {
		engine, err := alerts.New(alerts.Defaults())
		if err != nil {
			t.Fatal(err)
		}
		err = settled(t, dir).Each(t.Context(), func(x Timeline) {
			w := &watch{rules: limits}
			for i := range x.Events {
				ev := x.Events[i]
				ev.CompactsAt = new(claude.AutoCompact).CompactsAt(
					ev.Window,
					ev.Model,
					x.Change.Session.Version,
				)
				w.until(ev.At)
				if ev.Kind == alerts.EventCompacted {
					if ev.Trigger == transcript.Auto && x.First[i] {
						n.compacted(w)
					}
					w = &watch{rules: limits, now: w.now}
				}
				engine.Step(ev)
				v := engine.Agent(ev.Agent)
				w.see(v, ev.Kind == alerts.EventReading)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// TestImminentBeforeCompaction tests with scrapes every 15 seconds that the alerts on
// pressure fire at least two replies before 19 of 20 automatic compactions, if the client
// compacts within a tenth of the known threshold.
func TestImminentBeforeCompaction(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one fleet has too few compactions")
	}
	r := rulesOf(t)
	if r.high != alerts.HighFrom || r.imminent != alerts.ImminentFrom {
		t.Errorf("the alerts begin at %v and %v, the pressures elsewhere", r.high, r.imminent)
	}
	var dirs []string
	const fleets = 4
	for seed := range uint64(fleets) {
		dir := t.TempDir()
		if _, err := transcripttest.Generate(dir, transcripttest.Options{
			Seed:      seed + 1,
			Bytes:     16 << 20,
			LineBytes: 500,
		}); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	n := warnings(t, dirs...)
	if n.known < 20*fleets || n.imminent*100 < n.known*95 || n.high*100 < n.known*95 {
		t.Errorf(
			"of %d compactions %d were announced as high, %d as imminent",
			n.known,
			n.high,
			n.imminent,
		)
	}
}
