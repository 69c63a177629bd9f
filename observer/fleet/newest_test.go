package fleet

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"sm/transcript"
)

// TestNewest: what is kept of many is what sorting them all would leave, in whatever order
// they come and however many wrote at the same time.
func TestNewest(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		all := make([]silent, rng.IntN(6*atWorkMost))
		for i := range all {
			all[i] = silent{1 + transcript.Instant(rng.IntN(3*atWorkMost)), uuid(i)}
		}
		if seed%4 == 1 { // the oldest first: each has room
			slices.SortFunc(all, func(a, b silent) int { return cmp.Compare(a.last, b.last) })
		}
		var n newest
		for _, s := range all {
			if n.room(s.last) {
				n.add(s)
			}
		}
		n.cut()
		order := func(a, b silent) int { return cmp.Or(cmp.Compare(b.last, a.last), cmp.Compare(a.id, b.id)) }
		slices.SortFunc(all, order)
		want := map[string]transcript.Instant{}
		for _, s := range all[:min(len(all), atWorkMost)] {
			want[s.id] = s.last
		}
		got := map[string]transcript.Instant{}
		for _, s := range n.list {
			got[s.id] = s.last
		}
		if d := gocmp.Diff(want, got); d != "" {
			t.Errorf("seed %d, %d sessions (-want +got):\n%s", seed, len(all), d)
		}
	}
}
