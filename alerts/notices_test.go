package alerts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

func TestNoticesWithoutParent(t *testing.T) {
	e := newEngine(t)
	for _, act := range stepAll(e, reading(1, 150_000), boundary(60, 1), reading(70, 20_000), boundary(3600, 2)) {
		if s, ok := act.(Say); ok && s.To != (Target{Self, "a"}) {
			t.Errorf("%v hears %s", s.To, s.Key)
		}
	}
	// A parent of itself is none.
	check(t, []string{"open 2 compaction"}, play(newEngine(t), seen("a", ""), boundary(60, 1)))
}

func TestNoticesNameTheAgent(t *testing.T) {
	e := newEngine(t)
	for _, act := range stepAll(e, seen(
		"boss",
		"web\nignore all",
	), reading(
		1,
		110_000,
	), boundary(
		60,
		1,
	), reading(
		61,
		30_000,
	),
		boundary(600, 2), reading(601, 30_000), boundary(1200, 3)) {
		s, ok := act.(Say)
		if !ok {
			continue
		}
		if about := strings.Contains(
			s.Text,
			"web_ignore_all",
		); about != (s.To.Role != Self) ||
			strings.Contains(s.Text, "\n") {
			t.Errorf("%s to %s: %s", s.Key, s.To.Role, s.Text)
		}
		if s.To.Role == Parent && s.To.Agent != "boss" || s.To.Role == Self && s.To.Agent != "a" {
			t.Errorf("%s goes to %s", s.Key, s.To.Agent)
		}
	}
}

func TestSamplesFromBeforeClear(t *testing.T) {
	e := newEngine(t)
	play(e, sample(1, 150_000), reset(10, CauseClear, 7))
	before := view(t, e)
	check(t, nil, play(e, sample(9.999, 150_000), sample(9, 110_000)))
	if diff := cmp.Diff(before, view(t, e)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	check(t, []string{"say a/2/warning to self"}, play(e, sample(20, 110_000)))
}

func TestIdenticalSamples(t *testing.T) {
	e := newEngine(t)
	check(t, nil, play(e, sample(1, 90_000), sample(10, 90_000), sample(5, 150_000)))
	bare := sample(0, 110_000)
	bare.At = sec(0).AddDate(-9999, 0, 0)
	check(t, []string{"say a/1/warning to self"}, play(e, bare))
}

func TestCompactingEnds(t *testing.T) {
	for name, events := range map[string][]Event{
		"a sample": {sample(30, 30_000)}, "a reading": {reading(30, 30_000)}, "a larger one": {reading(30, 91_000)},
		"time": {tick(310)}, "a clear": {reset(
			30,
			CauseClear,
			1,
		)}, "time, seen by an event": {plain(
			400,
			EventTurnStart,
		)},
	} {
		e := newEngine(t)
		play(e, reading(1, 90_000), preCompact(10))
		play(e, events...)
		again := newEngine(t)
		again.Restore(e.Snapshot()) // that it ended must be stored, too
		if view(t, e).Compacting || view(t, again).Compacting {
			t.Errorf("%s does not end it", name)
		}
	}
}

func TestCompactingContinues(t *testing.T) {
	e := newEngine(t)
	play(e, reading(1, 150_000), preCompact(10))
	for _, ev := range []Event{sample(
		10.3,
		150_000,
	), sample(
		11,
		151_000,
	), sample(
		9,
		10_000,
	), reading(
		0.5,
		9,
	), preCompact(12),
		hookSign(5, SignComplete), boundary(4, 1), plain(13, EventTurnStart)} {
		play(e, ev)
		if !view(t, e).Compacting {
			t.Fatalf("%+v ended it", ev)
		}
	}
	play(e, boundary(100, 2))
	if view(t, e).Compacting {
		t.Error("the boundary did not end it")
	}
}

func TestCriticalReplacesOthers(t *testing.T) {
	e := newEngine(t, func(o *Options) {
		o.CompactionThreshold = 160_000
		o.ForecastTurns = 100
	})
	play(e, steady(0, 10_000, 1_000, 1)...)
	check(t, []string{"say a/1/critical to self"}, play(e, reading(4000, 150_000)))
	check(
		t,
		nil,
		play(e, reading(4001, 110_000), reading(4002, 120_000), plain(4003, EventTurnEnd), reading(4004, 150_000)),
	)
}

func TestLostTurnHooks(t *testing.T) {
	// The begin of a turn is lost, then the end of one.
	e := newEngine(t)
	play(e, active(0, true), plain(10, EventTurnEnd), plain(9, EventTurnStart))
	if view(t, e).InTurn {
		t.Error("a turn that has ended goes on")
	}
	check(
		t,
		nil,
		play(e, plain(20, EventTurnStart), reading(30, 9_000), plain(2000, EventTurnStart), reading(2010, 9_500)),
	)
	if v := view(t, e); !v.InTurn || v.Turns != 2 {
		t.Errorf("%d turns, in one: %v", v.Turns, v.InTurn)
	}
}

func TestAgentsAreIndependent(t *testing.T) {
	e := newEngine(t)
	other := func(ev Event) Event { ev.Agent = "b"; return ev }
	check(t, []string{
		"say a/1/warning to self",
		"say b/1/critical to self",
		"open 2 compaction",
		"withdraw b/1/critical",
	},
		play(e, reading(1, 110_000), other(reading(2, 150_000)), other(boundary(60, 1))))
	if v := view(t, e); v.Cycle != 1 || v.Tokens != 110_000 {
		t.Errorf("%+v", v)
	}
}

// TestLevels has the level file change with the level, the percentage and what is
// known, and not with each reading.
func TestLevels(t *testing.T) {
	e := newEngine(t)
	var got []string
	for _, act := range stepAll(e, reading(
		1,
		20_000,
	), reading(
		2,
		20_100,
	), sample(
		2.3,
		20_100,
	), reading(
		3,
		80_000,
	), reading(
		4,
		100_000,
	),
		reading(
			5,
			130_000,
		), reading(
			6,
			130_100,
		), boundary(
			7,
			1,
		), reading(
			8,
			20_100,
		), reset(
			9,
			CauseClear,
			1,
		), enabled(false), reading(
			10,
			150_000,
		)) {
		if l, ok := act.(SetLevel); ok {
			got = append(
				got,
				fmt.Sprintf("%s:%d:%d %v", strings.ToUpper(l.Level.String()), l.Percent, l.Tokens, l.Known),
			)
		}
	}
	want := []string{
		"OK:10:20000 true", "EARLY_WARN:40:80000 true", "WARN:50:100000 true", "CRITICAL:65:130000 true", "OK:0:0 false",
		"OK:10:20100 true", "OK:0:0 false", "CRITICAL:75:150000 true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOpened(t *testing.T) {
	e := newEngine(t)
	var got []Opened
	for _, act := range stepAll(e, reading(
		1,
		120_000,
	), preCompact(2), hookSign(
		60,
		SignSessionStart,
	), reading(
		61,
		20_000,
	),
		boundary(400, 2), reading(401, 20_000), reset(500, CauseSession, 9)) {
		if o, ok := act.(Opened); ok {
			got = append(got, o)
		}
	}
	want := []Opened{
		{
			Agent:     "a",
			Cycle:     2,
			Cause:     CauseCompaction,
			Trigger:   transcript.Auto,
			PreTokens: 120_000,
			Warned:    true,
			At:        sec(60),
		},
		{
			Agent:     "a",
			Cycle:     3,
			Cause:     CauseCompaction,
			Trigger:   transcript.Auto,
			PreTokens: 167_000,
			At:        sec(400),
		},
		{
			Agent:   "a",
			Cycle:   4,
			Cause:   CauseSession,
			Trigger: transcript.Unknown,
			At:      sec(500),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
