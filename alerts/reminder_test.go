package alerts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

// at returns a moment in seconds, in the type of reminders.
func at(s float64) Instant { return transcript.InstantOf(sec(s)) }

func seconds(s float64) Instant { return Instant(s * float64(time.Second)) }

func mustRemind(t testing.TB, e *Engine, list ...Reminder) {
	t.Helper()
	for _, r := range list {
		if r.Agent == "" {
			r.Agent = "a"
		}
		if err := e.Remind(r); err != nil {
			t.Fatal(err)
		}
	}
}

// periodic returns a reminder of the agent "a", set at the start.
func periodic(soft, hard float64) Reminder {
	return Reminder{
		ID:   "p",
		Text: "report",
		Made: at(0),
		Soft: seconds(soft),
		Hard: seconds(hard),
	}
}

func single(due float64) Reminder {
	return Reminder{
		ID:   "o",
		Text: "look",
		Made: at(0),
		Due:  at(due),
	}
}

// reminded lists the reminders in these actions.
func reminded(actions []Action) (list []string) {
	for _, act := range actions {
		switch x := act.(type) {
		case Remind:
			s := fmt.Sprintf("%s %s", x.Reminder.ID, x.Mode)
			if x.Late > 0 {
				s += " late " + x.Late.String()
			}
			if x.Forced {
				s += " forced"
			}
			list = append(list, s)
		case Skip:
			list = append(list, fmt.Sprintf("skip %v", x.Reminders))
		}
	}
	return list
}

// ticked ticks the engine at these seconds.
func ticked(e *Engine, list ...float64) (sent []string) {
	for _, s := range list {
		actions, _ := e.Tick(sec(s))
		sent = append(sent, reminded(actions)...)
	}
	return sent
}

func wants(t testing.TB, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestRemindersReset(t *testing.T) {
	e := newEngine(t)
	mustRemind(t, e, periodic(60, 90))
	play(e, reading(1, 20_000))
	ticked(e, 50)
	e.ResetReminders("a", sec(50))
	wants(t, "reset by the agent", []string{"p important"}, ticked(e, 61, 109, 110))
	stepAll(e, reset(115, CauseClear, 8))
	wants(
		t,
		"reset by a new cycle",
		[]string{"p important", "p urgent"},
		ticked(e, 140, 174, 175.5, 204, 206),
	)
	if all, others := e.Reminders("a"), e.Reminders("b"); len(all) != 1 || others != nil {
		t.Errorf("reminders of a: %v, of b: %v", all, others)
	}
	e.CancelReminder("p")
	if left := e.Reminders(""); left != nil {
		t.Errorf("left: %v", left)
	}
}

func TestRemindersAlways(t *testing.T) {
	e := newEngine(t, func(o *Options) {
		o.Reminders.Soft = time.Minute
		o.Reminders.Hard = 2 * time.Minute
	})
	reachable := false
	e.Reaches = func(string) bool { return reachable }
	stepAll(e, active(0, true))
	mustRemind(t, e, single(50))
	wants(t, "out of reach", []string{"o urgent"}, ticked(e, 50, 61))
	reachable = true
	wants(t, "at work", []string{"always-a important"}, ticked(e, 62))
	configure := func(hard time.Duration) {
		o := Defaults()
		o.Reminders.Hard = hard
		if err := e.Configure(o); err != nil {
			t.Fatal(err)
		}
	}
	configure(3 * time.Minute)
	wants(t, "configured anew", []string{"always-a urgent"}, ticked(e, 121, 181))
	configure(0)
	wants(t, "switched off", []string{"skip [always-a]"}, ticked(e, 182, 400))
	configure(time.Minute)
	wants(t, "switched on", []string{"always-a urgent"}, ticked(e, 401, 461))
	stepAll(e, active(470, false))
	wants(t, "gone", nil, ticked(e, 600))
}

func TestRemindersRefused(t *testing.T) {
	e := newEngine(t)
	for _, r := range []Reminder{
		{},
		{ID: "x", Agent: "a"},
		{
			ID:    "x",
			Agent: "a",
			Due:   1,
			Soft:  1,
		},
		{
			ID:    "x",
			Agent: "a",
			Soft:  2,
			Hard:  1,
		},
		{
			Agent: "a",
			Due:   1,
		},
		{
			ID:  "x",
			Due: 1,
		},
		{
			ID:    "x",
			Agent: "a",
			Due:   -1,
		},
		{
			ID:    "x",
			Agent: "a",
			Soft:  -1,
			Hard:  1,
		},
	} {
		if err := e.Remind(r); err == nil {
			t.Errorf("got %+v", r)
		}
	}
}

// TestRemindersInRandomOrder tests for lost, repeated and late signs of compactions that no
// reminder is sent during one, and that a single one is never later than the wait allows.
func TestRemindersInRandomOrder(t *testing.T) {
	runs := 10_000
	if testing.Short() {
		runs = 500
	}
	for seed := range uint64(runs) {
		rng := rand.New(rand.NewPCG(seed, 3))
		e := newEngine(t)
		var begun, ended []float64 // times of compactions in the client
		var events []Event
		for s := 20.0; s < 2000; s += 50 + 500*rng.Float64() {
			length := 5 + 400*rng.Float64()
			begun, ended = append(begun, s), append(ended, min(s+length, s+300))
			events = append(events, preCompact(s))
			events = append(
				events,
				reading(s-1, 150_000),
				reading(s+length+1, 20_000),
			) // the client works in between
			for _, sign := range []Event{
				boundary(s+length, transcript.Key(len(begun))),
				hookSign(s+length+0.1, SignSessionStart),
				hookSign(s+length+0.2, SignPostCompact),
			} {
				if rng.IntN(4) > 0 { // otherwise it is lost
					events = append(events, sign)
				}
				if rng.IntN(8) == 0 { // reported twice
					events = append(events, sign)
				}
			}
			s += length
		}
		slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
		due := 30 + 1500*rng.Float64()
		mustRemind(t, e, single(due), periodic(30+200*rng.Float64(), 250+200*rng.Float64()))
		for s := 0.0; s < 2500; s++ {
			for len(events) > 0 && !events[0].At.After(sec(s)) {
				e.Step(events[0])
				events = events[1:]
			}
			if seed%7 == 0 && rng.IntN(200) == 0 { // a restart
				again := newEngine(t)
				again.Restore(e.Snapshot())
				e = again
			}
			actions, _ := e.Tick(sec(s))
			for _, act := range actions {
				if r, ok := act.(Remind); ok && !allowed(r, s, due, begun, ended) {
					t.Fatalf(
						"seed %d: at %.0f s: %+v; compactions from %.0f to %.0f; due %.0f",
						seed,
						s,
						r,
						begun,
						ended,
						due,
					)
				}
			}
		}
		if left := e.Reminders("a"); len(left) != 1 {
			t.Fatalf("seed %d: left are %+v", seed, left)
		}
	}
}

// allowed judges one reminder by what the client did.
func allowed(r Remind, now, due float64, begun, ended []float64) bool {
	inside := false
	for i := range begun {
		inside = inside || now > begun[i] && now < ended[i]
	}
	if r.Reminder.Periodic() {
		return !inside
	}
	return now <= due+301 && (!inside || now >= due+300)
}
