package alerts

import (
	"testing"

	"sm/transcript"
)

// TestRules goes through the rules one by one: what is said, withdrawn and opened.
func TestRules(t *testing.T) {
	tokens := func(o *Options) { o.Thresholds = Thresholds{WarningTokens: 90_000, CriticalTokens: 120_000} }
	quiet := func(o *Options) { o.Storm = Storm{} }
	for _, c := range []struct {
		name   string
		change func(*Options)
		events []Event
		want   []string
	}{
		{"below the warning nothing is said", nil, []Event{reading(1, 98_999)}, nil},
		{"equality reaches", nil, []Event{reading(1, 100_000), reading(2, 130_000)}, []string{
			"say a/1/warning to self", "withdraw a/1/warning", "say a/1/critical to self"}},
		{"each once a cycle", nil, []Event{
			reading(1, 101_000), reading(2, 102_000), reading(3, 90_000), reading(4, 101_000),
			reading(5, 140_000), reading(6, 90_000), reading(7, 145_000)}, []string{
			"say a/1/warning to self", "withdraw a/1/warning", "say a/1/critical to self"}},
		{"a jump over both is one message", nil, []Event{reading(1, 50_000), reading(2, 150_000), reading(3, 110_000)},
			[]string{"say a/1/critical to self"}},
		{"thresholds in tokens", tokens, []Event{reading(1, 89_999), reading(2, 90_000), reading(3, 120_000)}, []string{
			"say a/1/warning to self", "withdraw a/1/warning", "say a/1/critical to self"}},
		{"a compaction opens a cycle and withdraws", nil, []Event{
			seen(
				"boss",
				"web",
			), reading(
				1,
				110_000,
			), preCompact(2), boundary(
				60,
				1,
			), reading(
				70,
				60_000,
			), reading(
				80,
				105_000,
			)}, []string{
			"say a/1/warning to self", "open 2 compaction", "withdraw a/1/warning", "say a/2/compacted to parent",
			"say a/2/warning to self"}},
		{"a manual compaction too", nil, []Event{
			reading(1, 110_000),
			manualBoundary(60, 1),
			reading(70, 105_000),
		}, []string{
			"say a/1/warning to self", "open 2 compaction", "withdraw a/1/warning", "say a/2/warning to self"}},
		{"two boundaries are two compactions, however close", quiet, []Event{
			seen(
				"boss",
				"",
			), reading(
				1,
				90_000,
			), boundary(
				60,
				1,
			), boundary(
				60.5,
				2,
			), boundary(
				60.5,
				1,
			), boundary(
				60.5,
				2,
			)}, []string{
			"open 2 compaction", "say a/2/compacted to parent", "open 3 compaction", "say a/3/compacted to parent"}},
		{"signs of one kind with a reading between are two", quiet, []Event{
			reading(
				1,
				90_000,
			), hookSign(
				60,
				SignPostCompact,
			), reading(
				70,
				30_000,
			), hookSign(
				80,
				SignPostCompact,
			)}, []string{
			"open 2 compaction", "open 3 compaction"}},
		{"a straggler after the first reading is none", quiet, []Event{
			reading(
				1,
				90_000,
			), hookSign(
				60,
				SignSessionStart,
			), reading(
				61,
				30_000,
			), hookSign(
				62,
				SignPostCompact,
			), hookSign(
				63,
				SignComplete,
			)}, []string{
			"open 2 compaction"}},
		{"but not after another PreCompact", quiet, []Event{
			reading(
				1,
				90_000,
			), hookSign(
				60,
				SignSessionStart,
			), reading(
				61,
				30_000,
			), preCompact(70), hookSign(
				80,
				SignPostCompact,
			)}, []string{
			"open 2 compaction", "open 3 compaction"}},
		{"nor when the context has grown back", quiet, []Event{
			reading(
				1,
				90_000,
			), hookSign(
				60,
				SignSessionStart,
			), reading(
				61,
				30_000,
			), reading(
				70,
				95_000,
			), hookSign(
				80,
				SignPostCompact,
			)}, []string{
			"open 2 compaction", "open 3 compaction"}},
		{"nor beyond settle", quiet, []Event{
			reading(
				1,
				90_000,
			), hookSign(
				60,
				SignSessionStart,
			), reading(
				61,
				30_000,
			), hookSign(
				361,
				SignPostCompact,
			)}, []string{
			"open 2 compaction", "open 3 compaction"}},
		{"without a reading, settle still tells two compactions apart", quiet, []Event{
			hookSign(60, SignPostCompact), hookSign(61, SignComplete), hookSign(400, SignPostCompact)}, []string{
			"open 2 compaction", "open 3 compaction"}},
		{"an opening stamped before the cycle's first reading belongs to it", quiet, []Event{
			reading(1, 90_000), boundary(60, 1), reading(100, 30_000), boundary(80, 2)}, []string{"open 2 compaction"}},
		{"so does one stamped with it", quiet, []Event{
			reading(
				1,
				90_000,
			), boundary(
				60,
				1,
			), reading(
				100,
				30_000,
			), boundary(
				100,
				2,
			)}, []string{"open 2 compaction"}},
		{"a sign from before a PreCompact is no result of it", quiet, []Event{
			reading(
				1,
				90_000,
			), hookSign(
				60,
				SignSessionStart,
			), reading(
				61,
				30_000,
			), preCompact(70), hookSign(
				62,
				SignPostCompact,
			)}, []string{
			"open 2 compaction"}},
		{"a doubled sign is one", quiet, []Event{
			reading(
				1,
				90_000,
			), hookSign(
				60,
				SignSessionStart,
			), reading(
				60.5,
				30_000,
			), hookSign(
				61.5,
				SignSessionStart,
			)}, []string{
			"open 2 compaction"}},
		{"the old context drawn anew is no first reading", quiet, []Event{
			reading(
				1,
				150_000,
			), hookSign(
				60,
				SignSessionStart,
			), reading(
				66,
				30_000,
			), sample(
				60.1,
				150_000,
			), hookSign(
				65,
				SignSessionStart,
			)}, []string{
			"say a/1/critical to self", "open 2 compaction", "withdraw a/1/critical"}},
		{"a compaction from before all that is known is no news", nil, []Event{
			seen("boss", ""), reading(100, 90_000), boundary(50, 1), hookSign(50, SignPostCompact)}, nil},
		{"an opening from before the last reading of the cycle before leaves this one as it is", quiet, []Event{
			reading(
				50,
				90_000,
			), reading(
				70,
				91_000,
			), boundary(
				100,
				2,
			), boundary(
				60,
				1,
			), reading(
				65,
				150_000,
			), reading(
				99,
				150_000,
			)}, []string{
			"open 2 compaction"}},
		{"the same with samples", quiet, []Event{
			sample(
				50,
				90_000,
			), sample(
				95,
				91_000,
			), hookSign(
				100,
				SignSessionStart,
			), hookSign(
				60,
				SignPostCompact,
			), sample(
				99.9,
				150_000,
			)}, []string{
			"open 2 compaction"}},
		{"and so does one from long before", quiet, []Event{
			sample(1, 90_000), hookSign(1000, SignPostCompact), boundary(100, 1), reading(500, 150_000)}, []string{
			"open 2 compaction"}},
		{"an earlier sign of the same compaction moves its begin", quiet, []Event{
			reading(1, 90_000), hookSign(65, SignComplete), boundary(60, 1), reading(64, 150_000)}, []string{
			"open 2 compaction", "say a/2/critical to self"}},
		{"a late boundary judges at once", nil, []Event{
			reading(1, 120_000), reading(70, 110_000), boundary(60, 1)}, []string{
			"say a/1/warning to self", "open 2 compaction", "withdraw a/1/warning", "say a/2/warning to self"}},
		{"a reading older than the cycle says nothing", nil, []Event{
			reading(1, 90_000), boundary(60, 1), reading(59, 140_000)}, []string{"open 2 compaction"}},
		{"a late reading is not the present", nil, []Event{reading(10, 90_000), reading(9, 140_000)}, nil},
		{"a reading newer than a late boundary is judged in its cycle", nil, []Event{
			reading(1, 150_000), reading(70, 110_000), boundary(60, 1), reading(80, 111_000)}, []string{
			"say a/1/critical to self", "open 2 compaction", "withdraw a/1/critical", "say a/2/warning to self"}},
		{"what was said of such a reading stays", nil, []Event{
			reading(
				1,
				90_000,
			), reading(
				70,
				110_000,
			), boundary(
				60,
				1,
			), reading(
				80,
				111_000,
			), boundary(
				160,
				2,
			)}, []string{
			"say a/1/warning to self", "open 2 compaction", "open 3 compaction", "withdraw a/1/warning"}},
		{"a clear withdraws all, and the news of a compaction", nil, []Event{
			seen(
				"boss",
				"",
			), reading(
				1,
				90_000,
			), boundary(
				60,
				1,
			), reading(
				70,
				140_000,
			), reset(
				80,
				CauseClear,
				7,
			)}, []string{
			"open 2 compaction", "say a/2/compacted to parent", "say a/2/critical to self",
			"open 3 clear", "withdraw a/2/critical a/2/compacted"}},
		{"compactions are announced whatever the thresholds", func(o *Options) { o.Thresholds = Thresholds{} }, []Event{
			seen("boss", ""), boundary(60, 1)}, []string{"open 2 compaction", "say a/2/compacted to parent"}},
		{"SessionStart leaves the announcement to the boundary, which has the trigger", quiet, []Event{
			seen("boss", ""), hookSign(60, SignSessionStart)}, []string{"open 2 compaction"}},
		{"so does PostCompact", quiet, []Event{
			seen("boss", ""), hookSign(60, SignPostCompact)}, []string{"open 2 compaction"}},
		{"compaction_complete announces", quiet, []Event{
			seen(
				"boss",
				"",
			), hookSign(
				60,
				SignComplete,
			)}, []string{
			"open 2 compaction",
			"say a/2/compacted to parent",
		}},
		{"the operator gets compactions of agents without a parent", func(o *Options) { o.OperatorCompactions = true }, []Event{
			reading(1, 90_000), boundary(60, 1)}, []string{"open 2 compaction", "say a/2/compacted to operator"}},
		{"a parent that comes later gets no old compaction", nil, []Event{
			reading(
				1,
				90_000,
			), hookSign(
				60,
				SignComplete,
			), seen(
				"boss",
				"",
			), boundary(
				60.5,
				1,
			)}, []string{"open 2 compaction"}},
		{"a clear without PreCompact opens a cycle", nil, []Event{
			reading(1, 110_000), reset(10, CauseClear, 7), reading(20, 110_000)}, []string{
			"say a/1/warning to self", "open 2 clear", "withdraw a/1/warning", "say a/2/warning to self"}},
		{"both notices again after a compaction that only samples show", nil, []Event{
			sample(1, 100_000), sample(2, 140_000), preCompact(3), sample(60, 110_000), sample(90, 132_000)}, []string{
			"say a/1/warning to self", "withdraw a/1/warning", "say a/1/critical to self",
			"open 2 compaction unconfirmed", "withdraw a/1/critical", "say a/2/warning to self",
			"withdraw a/2/warning", "say a/2/critical to self"}},
		{"events from before a clear do not announce a compaction again", nil, []Event{
			seen("boss", ""), reading(1, 90_000), boundary(60, 1), reading(70, 30_000), reset(80, CauseClear, 7),
			hookSign(60, SignPostCompact), boundary(75, 2), sample(74, 150_000)}, []string{
			"open 2 compaction", "say a/2/compacted to parent", "open 3 clear", "withdraw a/2/compacted"}},
		{"one clear has several signs", nil, []Event{
			reading(
				1,
				120_000,
			), reset(
				80,
				CauseClear,
				0,
			), reset(
				80.1,
				CauseClear,
				7,
			), reset(
				80.2,
				CauseSession,
				7,
			), reset(
				79,
				CauseHandoff,
				0,
			),
			reading(90, 20_000), reset(80.2, CauseSession, 7)}, []string{
			"say a/1/warning to self", "open 2 clear", "withdraw a/1/warning"}},
		{"two clears are two", nil, []Event{
			reading(
				1,
				20_000,
			), reset(
				80,
				CauseClear,
				7,
			), reading(
				90,
				20_000,
			), reset(
				95,
				CauseClear,
				8,
			), reading(
				99,
				20_000,
			), reset(
				200,
				CauseClear,
				0,
			)}, []string{
			"open 2 clear", "open 3 clear", "open 4 clear"}},
		{"a clear right after a compaction is a clear", nil, []Event{
			seen("boss", ""), reading(1, 20_000), boundary(60, 1), reset(61, CauseClear, 7)}, []string{
			"open 2 compaction", "say a/2/compacted to parent", "open 3 clear", "withdraw a/2/compacted"}},
		{"a new session right after one is how old clients compact", nil, []Event{
			reading(1, 20_000), boundary(60, 1), reset(61, CauseSession, 7)}, []string{"open 2 compaction"}},
		{"two new sessions are two, however close", nil, []Event{
			reading(
				1,
				20_000,
			), reset(
				80,
				CauseClear,
				7,
			), reset(
				81,
				CauseClear,
				8,
			), reading(
				82,
				9_000,
			), reset(
				83,
				CauseSession,
				9,
			)}, []string{
			"open 2 clear", "open 3 clear", "open 4 session"}},
		{"a late sign of a clear, and one that is too late", nil, []Event{
			reading(
				1,
				20_000,
			), reset(
				80,
				CauseClear,
				0,
			), reading(
				82,
				9_000,
			), reset(
				85,
				CauseHandoff,
				0,
			), reset(
				120,
				CauseSession,
				0,
			)}, []string{
			"open 2 clear", "open 3 session"}},
		{"one handoff has several signs, however late", nil, []Event{
			reading(
				1,
				20_000,
			), handedOver(
				80,
				5,
				7,
			), reset(
				81,
				CauseClear,
				7,
			), reading(
				82,
				9_000,
			), handedOver(
				85,
				5,
				0,
			), handedOver(
				130,
				5,
				0,
			),
			reset(84, CauseSession, 0), reading(140, 10_000), handedOver(85, 5, 7)}, []string{"open 2 handoff"}},
		{"one that is confirmed after minutes, in the session that it has kept", nil, []Event{
			reading(
				1,
				20_000,
			), handedOver(
				80,
				5,
				0,
			), reading(
				82,
				9_000,
			), handedOver(
				400,
				5,
				6,
			), reading(
				410,
				10_000,
			), handedOver(
				420,
				5,
				7,
			)}, []string{
			"open 2 handoff", "open 3 handoff"}},
		{"two handoffs are two, however close", nil, []Event{
			reading(
				1,
				20_000,
			), handedOver(
				80,
				5,
				0,
			), reading(
				80.5,
				9_000,
			), handedOver(
				81,
				6,
				0,
			), reading(
				82,
				9_000,
			), handedOver(
				83,
				7,
				0,
			)}, []string{
			"open 2 handoff", "open 3 handoff", "open 4 handoff"}},
		{"two handoffs are two, before the first reading, too", nil, []Event{
			reading(
				1,
				20_000,
			), handedOver(
				80,
				5,
				0,
			), handedOver(
				81,
				6,
				0,
			), reading(
				82,
				9_000,
			)}, []string{
			"open 2 handoff",
			"open 3 handoff",
		}},
		{"a handoff that an older version has seen begin is one", nil, []Event{
			reading(
				1,
				20_000,
			), reset(
				80,
				CauseHandoff,
				0,
			), reading(
				80.5,
				9_000,
			), handedOver(
				84,
				5,
				6,
			), reading(
				85,
				9_000,
			), handedOver(
				90,
				7,
				8,
			)}, []string{
			"open 2 handoff", "open 3 handoff"}},
		{"a handoff right after a rewind is one", nil, []Event{
			reading(
				1,
				20_000,
			), rewind(
				60,
				10_000,
				0,
			), reading(
				62,
				11_000,
			), handedOver(
				75,
				5,
				8,
			), reading(
				80,
				9_000,
			)}, []string{
			"open 2 rewind", "open 3 handoff"}},
		{"and so is one right after a clear that named no session", nil, []Event{
			reading(
				1,
				20_000,
			), reset(
				60,
				CauseClear,
				0,
			), reading(
				62,
				11_000,
			), handedOver(
				75,
				5,
				8,
			), reset(
				75.1,
				CauseClear,
				0,
			), reading(
				80,
				9_000,
			)}, []string{
			"open 2 clear", "open 3 handoff"}},
		{"the first session is the first cycle", nil, []Event{reset(1, CauseSession, 7), reading(2, 110_000)}, []string{
			"say a/1/warning to self"}},
		{"a compaction before a clear, told after it, is no news", nil, []Event{
			seen(
				"boss",
				"",
			), reading(
				1,
				90_000,
			), preCompact(40), reset(
				80,
				CauseClear,
				7,
			), hookSign(
				60,
				SignPostCompact,
			), boundary(
				60,
				1,
			)}, []string{
			"open 2 clear"}},
		{"a new file after a compaction is one opening", quiet, []Event{
			seen(
				"boss",
				"",
			), reading(
				1,
				90_000,
			), reset(
				60,
				CauseSession,
				7,
			), boundary(
				60.2,
				1,
			), reading(
				70,
				20_000,
			)}, []string{
			"open 2 session", "say a/2/compacted to parent"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.change == nil {
				c.change = func(*Options) {}
			}
			check(t, c.want, play(newEngine(t, c.change), c.events...))
		})
	}
}

func TestUnconfirmed(t *testing.T) {
	again := func(s float64) []Event {
		return []Event{reading(s, 150_000), preCompact(s + 1), sample(s+30, 60_000), sample(s+40, 90_000)}
	}
	t.Run("a shrunken sample while compacting", func(t *testing.T) {
		e := newEngine(t)
		check(t, []string{
			"say a/1/critical to self", "open 2 compaction unconfirmed", "withdraw a/1/critical", "say a/2/compacted to parent",
		}, play(e, append([]Event{seen("boss", "")}, again(10)...)...))
		if v := view(t, e); v.Compacting || !v.Unconfirmed {
			t.Errorf("compacting %v, unconfirmed %v", v.Compacting, v.Unconfirmed)
		}
		// The boundary that comes late confirms it.
		check(t, nil, play(e, boundary(35, 1), hookSign(35.1, SignPostCompact)))
		if v := view(t, e); v.Unconfirmed || v.Cycle != 2 {
			t.Errorf("unconfirmed %v in cycle %d", v.Unconfirmed, v.Cycle)
		}
	})
	t.Run("what a reading from before explains opens nothing", func(t *testing.T) {
		e := newEngine(t)
		check(t, []string{"say a/1/critical to self"}, play(e, reading(10, 150_000), preCompact(11),
			sample(11.3, 150_000), sample(12, 149_000), sample(13, 155_000), sample(9, 20_000)))
		if !view(t, e).Compacting {
			t.Error("the compaction has ended")
		}
	})
	t.Run("beside a transcript a sample waits for what may be on its way", func(t *testing.T) {
		e := newEngine(t)
		check(
			t,
			[]string{"say a/1/critical to self"},
			play(e, reading(10, 150_000), preCompact(60), sample(60.2, 135_000), reading(59.9, 135_000)),
		)
		check(t, []string{"open 2 compaction unconfirmed", "withdraw a/1/critical"}, play(e, sample(66, 60_000)))
		// Without one, nothing else will come.
		check(t, []string{
			"say a/1/critical to self",
			"open 2 compaction unconfirmed",
			"withdraw a/1/critical",
			"say a/2/warning to self",
		},
			play(newEngine(t), sample(10, 150_000), preCompact(60), sample(60.2, 110_000)))
	})
	t.Run("a larger reading shows that nothing came of it", func(t *testing.T) {
		e := newEngine(t)
		play(e, reading(10, 90_000), preCompact(11), reading(40, 91_000))
		if view(t, e).Compacting {
			t.Error("still compacting")
		}
		check(t, nil, play(e, reading(50, 60_000)))
	})
	t.Run("a fall without an attempt, or long after one", func(t *testing.T) {
		check(
			t,
			nil,
			play(newEngine(t), reading(10, 90_000), reading(20, 40_000), preCompact(30), reading(331, 20_000)),
		)
	})
	t.Run("three an hour, until a boundary confirms one", func(t *testing.T) {
		e := newEngine(t, func(o *Options) {
			o.Thresholds = Thresholds{}
			o.Storm = Storm{}
		})
		open := func(n string) []string { return []string{"open " + n + " compaction unconfirmed"} }
		check(t, open("2"), play(e, again(0)...))
		check(t, open("3"), play(e, again(600)...))
		check(t, open("4"), play(e, again(1200)...))
		check(t, nil, play(e, again(1800)...))
		if view(t, e).Compacting {
			t.Error("the compaction has not ended")
		}
		check(t, nil, play(e, boundary(1230, 1)))
		check(t, open("5"), play(e, again(2400)...))
		check(t, open("6"), play(e, again(6100)...))
	})
}

// TestSignsInAnyOrder has the signs of one compaction arrive in every order, among
// readings and samples of the cycles on both sides: it is one compaction.
func TestSignsInAnyOrder(t *testing.T) {
	signs := []Event{
		preCompact(100), hookSign(160, SignSessionStart), boundary(160.01, 1), hookSign(160.02, SignPostCompact),
		hookSign(160.5, SignComplete), reading(166, 105_000), sample(166.3, 105_000),
	}
	n := 0
	permute(signs, func(order []Event) {
		n++
		e := newEngine(t)
		got := play(e, seen("boss", ""), reading(10, 140_000), reading(20, 150_000))
		got = append(got, play(e, order...)...)
		got = append(
			got,
			play(
				e,
				reading(180, 106_000),
				sample(180.3, 106_000),
				boundary(160.01, 1),
				hookSign(160, SignSessionStart),
			)...,
		)
		count := map[string]int{}
		for _, line := range got {
			count[line]++
		}
		// The news may go out under the second cycle only. The warning of the second
		// cycle is said once, in whichever cycle its reading was first taken for.
		if v := view(
			t,
			e,
		); v.Cycle != 2 || v.Compacting || v.Unconfirmed ||
			v.Attempts != (transcript.TriggerCounts{1, 0, 0}) ||
			count["say a/2/compacted to parent"] != 1 || count["say a/1/critical to self"] != 1 ||
			count["say a/2/warning to self"] != 1 || count["say a/2/critical to self"] != 0 || t.Failed() {
			t.Fatalf("order %v:\n%v\n%+v", order, got, v)
		}
	})
	if n != 5040 {
		t.Errorf("%d orders", n)
	}
}

// permute calls f with all orders of list.
func permute(list []Event, f func([]Event)) {
	var walk func(k int)
	walk = func(k int) {
		if k == len(list) {
			f(list)
			return
		}
		for i := k; i < len(list); i++ {
			list[k], list[i] = list[i], list[k]
			walk(k + 1)
			list[k], list[i] = list[i], list[k]
		}
	}
	walk(0)
}
