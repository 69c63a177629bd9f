package alerts

import (
	"testing"
)

// TestSignsInAnyOrder tests that the signs of one compaction, in every order, among readings
// and samples of the cycles on both sides, are one compaction.
func TestSignsInAnyOrder(t *testing.T) {
	signs := []Event{
		preCompact(100), hookSign(
			160,
			SignSessionStart,
		), boundary(
			160.01,
			1,
		), hookSign(
			160.02,
			SignPostCompact,
		),
		hookSign(160.5, SignComplete), reading(166, 105_000), sample(166.3, 105_000),
	}
	n := 0
	permute(signs, func(order []Event) {
		n++
		e := newEngine(t)
		got := play(e, seen(""), reading(10, 140_000), reading(20, 150_000))
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
		// The notice may be sent only in the second cycle. The warning of the second cycle is
		// sent once, in whichever cycle its reading was first assigned to.
		if v := view(
			t,
			e,
		); v.Cycle != 2 || v.Compacting ||
			e.counters.Attempts != [4]uint64{1} ||
			count["deliver a/2/compacted to parent"] != 1 || count["deliver a/1/critical to self"] != 1 ||
			count["deliver a/2/warning to self"] != 1 || count["deliver a/2/critical to self"] != 0 || t.Failed() {
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
