package alerts

import (
	"testing"

	"sm/transcript"
)

func TestSamples(t *testing.T) {
	huge := sample(5, 700_000)
	huge.Window = 1_000_000
	for _, c := range []struct {
		name   string
		events []Event
		want   []string
	}{
		{"alone they warn", []Event{sample(1, 110_000)}, []string{"say a/1/warning to self"}},
		{"beside a reading they do not", []Event{reading(1, 90_000), sample(1.3, 110_000), sample(6, 110_000)}, nil},
		{
			"unless over 5 s newer",
			[]Event{reading(1, 90_000), sample(6.1, 110_000)},
			[]string{"say a/1/warning to self"},
		},
		{"0 is unknown", []Event{sample(1, 0), reading(2, 0), sample(3, -1)}, nil},
		{"out of order", []Event{sample(10, 40_000), sample(9, 150_000)}, nil},
		{
			"of the cycle before",
			[]Event{sample(1, 90_000), boundary(10, 1), sample(9.9, 150_000)},
			[]string{"open 2 compaction"},
		},
		{"the old context drawn anew after a compaction", []Event{
			sample(
				1,
				140_000,
			), boundary(
				10,
				1,
			), sample(
				11,
				140_000,
			), sample(
				12,
				145_000,
			), sample(
				200,
				140_000,
			), sample(
				210,
				50_000,
			)},
			[]string{"say a/1/critical to self", "open 2 compaction", "withdraw a/1/critical"}},
		{"the same, before the compaction is known", []Event{
			sample(1, 140_000),
			sample(11, 140_000),
			boundary(10, 1),
			sample(20, 50_000),
		},
			[]string{"say a/1/critical to self", "open 2 compaction", "withdraw a/1/critical"}},
		{"the same, when it is larger than what was seen", []Event{
			sample(1, 90_000),
			sample(11, 140_000),
			boundary(10, 1),
			sample(20, 50_000),
		},
			[]string{"say a/1/critical to self", "open 2 compaction", "withdraw a/1/critical"}},
		{"drawn anew more than once", []Event{
			sample(1, 140_000),
			sample(11, 140_000),
			sample(12, 140_000),
			boundary(10, 1),
		},
			[]string{"say a/1/critical to self", "open 2 compaction", "withdraw a/1/critical"}},
		{"with a rounded percentage", []Event{reading(1, 165_123), boundary(10, 1), sample(11, 164_000)},
			[]string{"say a/1/critical to self", "open 2 compaction", "withdraw a/1/critical"}},
		{"smaller than the last reading before, which came late", []Event{
			reading(1, 90_000),
			hookSign(10, SignSessionStart),
			reading(9, 150_000),
			sample(11, 100_000),
		},
			[]string{"open 2 compaction", "say a/2/warning to self"}},
		{"sums of many requests", []Event{sample(1, 220_000)}, nil},
		{"a window of a million", []Event{huge}, []string{"say a/1/critical to self"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEngine(t)
			check(t, c.want, play(e, c.events...))
		})
	}
}

func TestASampleSpeaksOfTheReadingWithItsFigures(t *testing.T) {
	e := newEngine(t)
	play(e, reading(1, 90_000), sample(100, 90_000))
	if v := view(t, e); v.Source != transcript.FromTranscript || v.Read != sec(1) {
		t.Errorf("%+v", v)
	}
}

func TestEstimatesWarnIfConfigured(t *testing.T) {
	guess := reading(1, 150_000)
	guess.Source = transcript.FromEstimate
	check(t, nil, play(newEngine(t), guess))
	on := func(o *Options) { o.Estimate = true }
	check(t, []string{"say a/1/critical to self"}, play(newEngine(t, on), guess))
	e := newEngine(t, on)
	check(t, nil, play(e, sample(0.5, 20_000), guess))
	if v := view(t, e); v.Tokens != 20_000 || v.Source != transcript.FromStatusline {
		t.Errorf("the estimate stands for the context: %+v", v)
	}
}

func TestEnabling(t *testing.T) {
	t.Run("silent agents have levels and cycles", func(t *testing.T) {
		e := newEngine(t)
		check(
			t,
			[]string{"open 2 compaction"},
			play(e, enabled(false), reading(1, 150_000), boundary(10, 1), reading(20, 140_000)),
		)
		if v := view(t, e); v.Level != Critical || v.Cycle != 2 || v.Enabled {
			t.Errorf("%+v", v)
		}
	})
	t.Run("disabling withdraws, enabling judges at once", func(t *testing.T) {
		e := newEngine(t)
		check(
			t,
			[]string{"say a/1/warning to self", "withdraw a/1/warning"},
			play(e, reading(1, 110_000), enabled(false)),
		)
		check(t, []string{"say a/1/critical to self"}, play(e, reading(2, 150_000), enabled(true)))
		check(t, []string{"withdraw a/1/critical"}, play(e, enabled(false), enabled(true)))
	})
	t.Run("for all agents, by the settings", func(t *testing.T) {
		off := Defaults()
		off.Disabled = true
		e := newEngine(t)
		play(e, reading(1, 110_000))
		if err := e.Configure(off); err != nil {
			t.Fatal(err)
		}
		check(t, []string{"withdraw a/1/warning"}, play(e, tick(2), reading(3, 150_000)))
		if err := e.Configure(Defaults()); err != nil {
			t.Fatal(err)
		}
		check(t, []string{"say a/1/critical to self"}, play(e, tick(4), tick(5)))
	})
	t.Run("other thresholds", func(t *testing.T) {
		configure := func(e *Engine, warning, critical int64) {
			o := Defaults()
			o.Thresholds.WarningTokens = warning
			o.Thresholds.CriticalTokens = critical
			if err := e.Configure(o); err != nil {
				t.Fatal(err)
			}
		}
		e := newEngine(t)
		play(e, reading(1, 70_000))
		configure(e, 60_000, 90_000)
		check(t, []string{"say a/1/warning to self"}, play(e, tick(2), tick(3)))
		configure(e, 80_000, 90_000)
		check(t, []string{"withdraw a/1/warning"}, play(e, tick(4), tick(5)))
		check(t, []string{"say a/1/critical to self"}, play(e, reading(6, 95_000)))
		s := e.Snapshot()
		later := newEngine(
			t,
			func(o *Options) { o.Thresholds.CriticalTokens = 99_000; o.Thresholds.WarningTokens = 90_000 },
		)
		later.Restore(s)
		check(t, []string{"withdraw a/1/critical"}, play(later, tick(7), tick(8)))
	})
	t.Run("but not of last week's", func(t *testing.T) {
		e := newEngine(t)
		check(t, nil, play(e, enabled(false), reading(1, 150_000), tick(100_000), enabled(true)))
		check(t, []string{"say a/1/critical to self"}, play(e, reading(100_001, 151_000)))
	})
}

func TestHistory(t *testing.T) {
	old := reading(-3600, 150_000)
	now := reading(-60, 150_000)
	old.History = true
	now.History = true
	now.Cycle = 4
	e := newEngine(t)
	check(t, nil, play(e, old))
	if v := view(t, e); v.Level != Critical || v.Tokens != 150_000 {
		t.Errorf("%+v", v)
	}
	check(t, []string{"say a/1/critical to self"}, play(e, reading(1, 151_000)))
	check(t, []string{"say a/4/critical to self"}, play(newEngine(t), now))
	taught := boundary(-3600, 1)
	taught.History = true
	check(t, nil, play(newEngine(t), taught, reading(1, 20_000)))
}

func TestCompactingEndsByItself(t *testing.T) {
	e := newEngine(t)
	play(e, reading(1, 90_000), preCompact(10))
	if v := view(t, e); !v.Compacting || v.Since != sec(10) || v.Trigger != transcript.Auto {
		t.Errorf("%+v", v)
	}
	if _, next := e.Tick(sec(20)); next != sec(310) {
		t.Errorf("next tick at %v", next)
	}
	e.Tick(sec(309.9))
	if !view(t, e).Compacting {
		t.Error("ended too early")
	}
	e.Tick(sec(310))
	if view(t, e).Compacting || e.Counters().Lapsed != 1 {
		t.Error("has not ended")
	}
	// Its result, told late, still counts.
	check(t, []string{"open 2 compaction"}, play(e, boundary(330, 1)))
	// By then the attempt no longer says what made a compaction without PreCompact.
	other := newEngine(t)
	play(other, reading(1, 90_000), preCompact(10), tick(400))
	for _, act := range other.Step(hookSign(500, SignSessionStart)) {
		if o, ok := act.(Opened); ok && o.Trigger != transcript.Unknown {
			t.Errorf("the trigger is %s", o.Trigger)
		}
	}
	// A hook that comes after its result begins nothing, nor does an older one.
	play(e, preCompact(330.4))
	if view(t, e).Compacting {
		t.Error("a hook stamped on arrival began a compaction")
	}
	play(e, reading(335, 20_000), preCompact(320))
	if view(t, e).Compacting {
		t.Error("a late hook began a compaction")
	}
	// A doubled hook is one attempt, another one is another.
	play(e, reading(340, 90_000), preCompact(400), preCompact(400.5), preCompact(460), preCompact(450))
	if v := view(t, e); v.Attempts != (transcript.TriggerCounts{5, 0, 0}) || v.Since != sec(460) {
		t.Errorf("attempts %v, since %v", v.Attempts, v.Since)
	}
	// Once there was a result the next is another, however soon.
	play(e, boundary(461, 2), preCompact(461.5), preCompact(461.6))
	if v := view(t, e); v.Attempts != (transcript.TriggerCounts{7, 0, 0}) {
		t.Errorf("attempts %v", v.Attempts)
	}
}
