package follow

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestPressure tests that of many recently written files at most Live are live, those written
// last, and at most Tails of them have a descriptor. All of them are read to their end, at
// once or parked, and soon again when they grow.
func TestPressure(t *testing.T) {
	t.Parallel()
	for _, noInotify := range []bool{false, true} {
		t.Run(fmt.Sprintf("NoInotify %t", noInotify), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.o.Live = 8
			r.o.Tails = 3
			r.o.NoInotify = noInotify
			r.o.Stats = &Stats{}
			const files = 60
			for n := range files {
				r.append(r.numbered(n), reply(1, 100))
				at := time.Now().Add(-time.Duration(files-n) * time.Second) // the later, the younger
				r.must(os.Chtimes(r.numbered(n), at, at))
			}
			most := int64(0)
			r.start()
			r.settle("at the start")
			for round := range 4 {
				for n := range files {
					r.append(r.numbered(n), reply(2+round, 100*round))
				}
				r.settle(fmt.Sprintf("round %d: all have grown", round))
				most = max(most, r.o.Stats.Live.Load())
				r.append(r.numbered(round), reply(20+round, 100))
				r.settle(fmt.Sprintf("round %d: one that was parked has grown", round))
			}
			r.stop()
			if most == 0 || most > 10 {
				t.Errorf("%d live files", most)
			}
		})
	}
}

// TestPressureDescriptors tests that the descriptors of transcripts that a follower holds are
// those of its tails, and at most one for each look.
func TestPressureDescriptors(t *testing.T) {
	if !alone(t, 1) {
		return
	}
	r := newRig(t)
	r.o.Live = 40
	r.o.Tails = 5
	for n := range 100 {
		r.append(r.numbered(n), reply(1, 100))
	}
	r.start()
	r.settle("at the start")
	for n := range 100 { // a file with a tail was opened before this was read
		r.append(r.numbered(n), reply(2, 200))
	}
	r.settle("all have grown")
	held := func() (n int) {
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		for _, fd := range open {
			if name, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.HasSuffix(
				name,
				".jsonl",
			) {
				n++
			}
		}
		return n
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); held() != 5; { // a look may hold one briefly
		select {
		case <-tick.C:
		case c := <-r.out:
			r.take(c)
		case <-end:
			t.Fatalf("%d descriptors of transcripts, want 5", held())
		}
	}
	r.stop()
}
