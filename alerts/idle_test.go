package alerts

import (
	"testing"

	"sm/transcript"
)

// idleBoundary is the record of a compaction of an idle conversation.
func idleBoundary(s float64, key transcript.Key, tokens int64) Event {
	ev := boundary(s, key)
	ev.Trigger = transcript.Idle
	ev.PreTokens = tokens
	return ev
}

// TestIdleCompactions: compactions of an idle conversation open cycles, and say
// nothing about where the client compacts.
func TestIdleCompactions(t *testing.T) {
	e := newEngine(t)
	play(e, seen("boss", "web"))
	for i := range 4 {
		at := float64(10_000 * i)
		check(t, []string{"open " + string(rune('2'+i)) + " compaction"},
			play(e, reading(at+1, 60_000), preCompactIdle(at+9), idleBoundary(at+10, transcript.Key(i+1), 60_000)))
	}
	v := view(t, e)
	if v.ThresholdSource == ThresholdSeen || v.Storming || e.Counters().Storms != 0 {
		t.Errorf(
			"threshold %d %s, %d storms; want nothing learned, no storm",
			v.Threshold,
			v.ThresholdSource,
			e.Counters().Storms,
		)
	}
	if want := (transcript.TriggerCounts{transcript.Idle: 4}); v.Attempts != want {
		t.Errorf("attempts %v, want %v", v.Attempts, want)
	}
}

func preCompactIdle(s float64) Event {
	ev := preCompact(s)
	ev.Trigger = transcript.Idle
	return ev
}

// TestIdleCompactionsNoticedLate: a compaction that turns out to be idle is taken
// out of the storms and of what was learned.
func TestIdleCompactionsNoticedLate(t *testing.T) {
	e := newEngine(t)
	for i := range 3 {
		at := float64(10_000 * i)
		taken := idleBoundary(at+10, transcript.Key(i+1), 60_000)
		taken.Trigger = transcript.Auto
		play(e, reading(at+1, 60_000), taken, idleBoundary(at+10, transcript.Key(i+1), 60_000))
	}
	if v := view(t, e); v.ThresholdSource == ThresholdSeen || v.Storming || v.Cycle != 4 {
		t.Errorf(
			"cycle %d, threshold %s, storming %t; want cycle 4, nothing learned, no storm",
			v.Cycle,
			v.ThresholdSource,
			v.Storming,
		)
	}
}

// TestDismissedCompactions: a client that goes on without a result has only written
// a summary for later, which is no attempt.
func TestDismissedCompactions(t *testing.T) {
	tests := map[string]func(*Engine){
		"reply":          func(e *Engine) { play(e, reading(12, 90_500)) },
		"back at prompt": func(e *Engine) { e.Dismiss("a") },
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t)
			play(e, reading(1, 90_000), preCompact(10))
			if ids := e.Compacting(sec(10)); len(ids) != 1 {
				t.Fatalf("agents that compact: %v, want one", ids)
			}

			end(e)
			v := view(t, e)
			if v.Compacting || v.Cycle != 1 || v.Attempts.Total() != 0 {
				t.Errorf("compacting %t, cycle %d, attempts %v; want none", v.Compacting, v.Cycle, v.Attempts)
			}
		})
	}
}
