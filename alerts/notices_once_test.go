package alerts

import (
	"sm/transcript"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tests of this file hold that a notice is given once a cycle.

// usage is what the seed's status line posts: a percentage of a window of 200,000.
func usage(s float64, percent int64) Event { return sample(s, percent*window/100) }

func TestNotices_WarningFiresOnceAtFiftySuppressedOnRepeat(t *testing.T) {
	e := newEngine(t)
	check(t, nil, play(e, usage(1, 49)))
	check(t, []string{"say a/1/warning to self"}, play(e, usage(2, 50)))
	check(t, nil, play(e, usage(3, 50), usage(4, 50), usage(5, 51)))
}

func TestNotices_CriticalFiresOnceAtSixtyFiveSuppressedOnRepeat(t *testing.T) {
	e := newEngine(t)
	play(e, usage(1, 50))
	check(t, nil, play(e, usage(2, 64)))
	check(t, []string{"withdraw a/1/warning", "say a/1/critical to self"}, play(e, usage(3, 65)))
	check(t, nil, play(e, usage(4, 65), usage(5, 66)))
}

func TestNotices_CompactionOpensBothAgainEvenAboveTheWarning(t *testing.T) {
	e := newEngine(t)
	play(e, usage(1, 50), usage(2, 70), preCompact(3))
	check(t, []string{
		"open 2 compaction unconfirmed", "withdraw a/1/critical", "say a/2/warning to self",
		"withdraw a/2/warning", "say a/2/critical to self",
	}, play(e, usage(60, 55), usage(90, 66)))
	// The same, when the client says that it is done.
	e = newEngine(t)
	play(e, usage(1, 50), usage(2, 70), preCompact(3))
	check(t, []string{"open 2 compaction", "withdraw a/1/critical", "say a/2/warning to self"},
		play(e, hookSign(50, SignComplete), usage(60, 55)))
}

func TestNotices_HandoffOpensBothAgain(t *testing.T) {
	e := newEngine(t)
	play(e, usage(1, 50), usage(2, 70))
	check(t, []string{"open 2 handoff", "withdraw a/1/critical", "say a/2/warning to self"},
		play(e, reset(10, CauseHandoff, 0), reset(10.5, CauseClear, 7), usage(20, 52)))
}

func TestNotices_AFallBelowTheWarningOpensNothing(t *testing.T) {
	e := newEngine(t)
	play(e, usage(1, 50), usage(2, 65))
	check(t, nil, play(e, usage(3, 49), usage(4, 10), usage(5, 50), usage(6, 65), usage(7, 0), usage(8, 70)))
	if v := view(t, e); v.Cycle != 1 {
		t.Errorf("cycle %d", v.Cycle)
	}
}

func TestNotices_TokensUsedFollowTheSamples(t *testing.T) {
	e := newEngine(t)
	for i, tokens := range []int64{8_000, 15_234, 90_000} {
		play(e, sample(float64(i), tokens))
		if v := view(t, e); v.Tokens != tokens || !v.Known {
			t.Errorf("%+v, want %d tokens", v, tokens)
		}
	}
}

func TestNotices_PreCompactIsNotedAndTheParentHearsOfTheCompaction(t *testing.T) {
	e := newEngine(t)
	check(t, nil, play(e, seen("boss", "web"), usage(1, 30), preCompact(3)))
	if v := view(t, e); !v.Compacting || v.Attempts != (transcript.TriggerCounts{}) {
		t.Errorf("%+v", v)
	}
	check(t, []string{"open 2 compaction", "say a/2/compacted to parent"}, play(e, hookSign(50, SignComplete)))
}

func TestNotices_EdgePercentageIsNullBeforeTheFirstCall(t *testing.T) {
	e := newEngine(t)
	check(t, nil, play(e, usage(1, 0)))
	if v := view(t, e); v.Known || v.Level != OK {
		t.Errorf("%+v", v)
	}
}

func TestNotices_EdgeRapidUpdatesSayNothingTwice(t *testing.T) {
	e := newEngine(t)
	var events []Event
	for i := range 500 {
		events = append(events, usage(float64(i)/1000, 40+int64(i)/10))
	}
	check(t, []string{"say a/1/warning to self", "withdraw a/1/warning", "say a/1/critical to self"}, play(e, events...))
}

func TestNotices_DefaultTexts(t *testing.T) {
	e := newEngine(t)
	var actions []Action
	for _, ev := range []Event{seen("boss", "web"), reading(1, 104_000), reading(2, 132_000), boundary(60, 1)} {
		actions = append(actions, e.Step(ev)...)
	}
	want := []string{
		"[sm context] Context at 52%, 104,000 tokens. A good time to write a handoff document and run sm handoff PATH.",
		"[sm context] Context at 66%, critically high. Write your handoff document now and run sm handoff PATH. Compaction is near.",
		"[sm context] web was compacted, auto, 167,000 tokens, and is still running.",
	}
	if diff := cmp.Diff(want, texts(actions)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
