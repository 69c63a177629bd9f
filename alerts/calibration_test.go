package alerts

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

// wildFleet are agents that take turns, each with cycles of its own, in one order of time.
func wildFleet(rng *rand.Rand, agents, cycles int) (events []Event) {
	for i := range agents {
		for _, ev := range wild(rng, 0.5+rng.Float64(), 1, cycles) {
			ev.Agent = AgentID(rune('a' + i))
			ev.Key += transcript.Key(1000 * i)
			events = append(events, ev)
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
	return events
}

// TestCalibrationRestored: an engine that is stopped and started again at any time forecasts what one does that runs on,
// and what it keeps does not grow.
func TestCalibrationRestored(t *testing.T) {
	t.Parallel()
	at160 := func(o *Options) { o.CompactionThreshold = 160_000 }
	rng := rand.New(rand.NewPCG(5, 6))
	runs, stops := newEngine(t, at160), newEngine(t, at160)
	for i, ev := range wildFleet(rng, 6, 30) {
		if rng.IntN(50) == 0 {
			stored, err := json.Marshal(stops.Snapshot())
			if err != nil {
				t.Fatal(err)
			}
			var s State
			if err := json.Unmarshal(stored, &s); err != nil {
				t.Fatal(err)
			}
			stops = newEngine(t, at160)
			stops.Restore(s)
			if n := len(s.Agents) * 1500; len(stored) > 20_000+n {
				t.Fatalf("%d bytes of %d agents after %d events", len(stored), len(s.Agents), i)
			}
		}
		runs.Step(ev)
		stops.Step(ev)
		if d := cmp.Diff(viewOf(t, runs, ev.Agent).Forecast, viewOf(t, stops, ev.Agent).Forecast); d != "" {
			t.Fatalf("event %d (-runs on +restored):\n%s", i, d)
		}
		for _, a := range runs.agents {
			if len(a.Foreseen) > foreseenKept || cap(a.Foreseen) > 2*foreseenKept {
				t.Fatalf("%d forecasts of a cycle are kept, with room for %d", len(a.Foreseen), cap(a.Foreseen))
			}
		}
	}
	for k, list := range runs.forecaster.Errors {
		if want := min(errorsKept, 180); stratum()[k] < 80 && len(list) != want {
			t.Errorf("%d errors with %d left, want %d", len(list), stratum()[k], want)
		}
	}
}

// TestCalibrationTeachers: only what a client compacts by itself teaches, once, whichever sign comes first.
func TestCalibrationTeachers(t *testing.T) {
	t.Parallel()
	fill := func() []Event {
		var events []Event
		for i := range 25 {
			events = append(events, reading(float64(10*i), int64(20_000+5000*i)))
		}
		return events
	}
	auto, hook := boundary(300, 1), plain(299, EventCompacted)
	manual, told := auto, auto
	manual.Trigger = transcript.Manual
	told.At = told.At.Add(1)
	hook.Sign = SignSessionStart
	clear := plain(300, EventReset)
	clear.Cause, clear.Key = CauseClear, 9
	for _, c := range []struct {
		name string
		ends []Event
		want int // strata that have learned
	}{
		{"automatic", []Event{auto}, 4},
		{"told twice", []Event{auto, told}, 4},
		{"a hook first", []Event{hook, auto}, 4},
		{"a hook alone", []Event{hook}, 0},
		{"by hand", []Event{manual}, 0},
		{"cleared", []Event{clear}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t, func(o *Options) { o.CompactionThreshold = 160_000 })
			play(e, append(fill(), c.ends...)...)
			play(e, reading(400, 30_000))
			got := 0
			for _, list := range e.forecaster.Errors {
				got += len(list)
			}
			if got != c.want {
				t.Errorf("%d errors, want %d", got, c.want)
			}
			if n := len(e.agents["a"].Foreseen); n != 1 {
				t.Errorf("%d forecasts of the new cycle", n)
			}
		})
	}
}

// TestRest: of the sizes that were seen a forecast goes by one of the smallest.
func TestRest(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for i, pre := range []int64{174_000, 155_100, 170_600, 155_300, 171_400} {
		ev := boundary(float64(1000*i), transcript.Key(i+1))
		ev.PreTokens, ev.Model = pre, "m"
		e.Step(ev)
	}
	ev := reading(9000, 100_000)
	ev.Model = "m"
	e.Step(ev)
	a := e.agents["a"]
	r, _ := a.current()
	if at, _ := e.threshold("a", r); at != 170_600 {
		t.Errorf("threshold %d", at)
	}
	if rest := e.rest(a); rest != 55_100 {
		t.Errorf("a forecast goes by %v tokens more", rest)
	}
}

// TestQuantiles: at least four in five of the figures to come lie between the outer ones.
func TestQuantiles(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][3]float64{30: {3, 15.5, 28}, 99: {10, 50, 90}, 100: {10, 50.5, 91}} {
		sorted := make([]int16, n)
		for i := range sorted {
			sorted[i] = int16(i + 1)
		}
		if got := quantiles(sorted); got != want {
			t.Errorf("of %d: %v, want %v", n, got, want)
		}
	}
}

// TestBands: a stratum with few errors takes those of the nearest one that has enough; none has them at first.
func TestBands(t *testing.T) {
	t.Parallel()
	var c Calibration
	if d := cmp.Diff(usualErrors(), bandsOf(c.sorted())); d != "" {
		t.Errorf("(-built-in +got):\n%s", d)
	}
	for i := range errorsNeeded {
		c.Errors[1] = append(c.Errors[1], int16(i))
		c.Errors[3] = append(c.Errors[3], int16(100+i))
		c.Errors[5] = append(c.Errors[5][:0], int16(i))
	}
	b := bandsOf(c.sorted())
	near, far := [3]float64{0.02, 0.145, 0.27}, [3]float64{1.02, 1.145, 1.27}
	for k, want := range [strata][3]float64{near, near, near, far, far, far} {
		if got := [3]float64{b[0][k], b[1][k], b[2][k]}; got != want {
			t.Errorf("with %d left %v, want %v", stratum()[k], got, want)
		}
	}
}

// TestSortedErrors: the errors in order are those that are kept, whatever comes and goes.
func TestSortedErrors(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var f forecaster
	f.restore(Calibration{Errors: [strata][]int16{2: make([]int16, errorsKept+7)}})
	for range 5 * errorsKept * strata {
		f.note(rng.IntN(strata), int16(rng.IntN(40)-20))
	}
	if d := cmp.Diff(f.Calibration.sorted(), f.sorted); d != "" {
		t.Errorf("(-kept +in order):\n%s", d)
	}
	for k, kept := range f.Errors {
		if len(kept) != errorsKept {
			t.Errorf("stratum %d keeps %d", k, len(kept))
		}
	}
}

// TestRepliesAlone: Replies says what the view says.
func TestRepliesAlone(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	known := 0
	for _, ev := range wildFleet(rand.New(rand.NewPCG(3, 4)), 3, 4) {
		ev.CompactsAt = 167_000
		e.Step(ev)
		v := viewOf(t, e, ev.Agent)
		tokens, replies, ok := e.Replies(ev.Agent)
		if tokens != v.Tokens || replies != v.Forecast.Replies || ok != v.Known {
			t.Fatalf("after %+v: %d tokens, %+v, %v; the view has %d, %+v, %v", ev, tokens, replies, ok, v.Tokens, v.Forecast.Replies, v.Known)
		}
		if replies.Known {
			known++
		}
	}
	if known < 50 {
		t.Errorf("known %d times", known)
	}
	if _, _, ok := e.Replies("nobody"); ok {
		t.Error("nobody is known")
	}
}

// TestBeyond: a context that has grown beyond what was assumed, and is not compacted, is taken to grow until the window is
// full; the next cycle begins with what is assumed.
func TestBeyond(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	at := func(second float64, tokens int64) float64 {
		ev := reading(second, tokens)
		ev.CompactsAt = 167_000
		e.Step(ev)
		return viewOf(t, e, "a").Forecast.Replies.Likely
	}
	for i := range 15 {
		if got := at(float64(i), int64(26_000+10_000*i)); got == 0 {
			t.Errorf("due at %d", 26_000+10_000*i)
		}
	}
	if got := at(20, 170_000); got != 0 {
		t.Errorf("just beyond it is %v replies until the compaction", got)
	}
	if got := at(30, 180_000); got < 1.5 || got > 3 {
		t.Errorf("well beyond it is %v replies until the compaction, want some 2", got)
	}
	e.Step(boundary(40, 1))
	at(50, 30_000)
	if got := at(60, 170_000); got != 0 {
		t.Errorf("in the next cycle it is %v replies until the compaction", got)
	}
}
