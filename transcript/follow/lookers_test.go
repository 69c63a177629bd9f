package follow

import (
	"fmt"
	"testing"
	"time"
)

// TestWrittenWithoutTail: lines of a file without a tail are read when inotify
// reports them, and wait for no check.
func TestWrittenWithoutTail(t *testing.T) {
	r := newRig(t)
	r.o.Tails = 1
	r.o.Check = time.Hour
	path := func(n int) string {
		return r.path(
			"-p",
			fmt.Sprintf("%08d-0000-4000-8000-000000000000.jsonl", n),
		)
	}
	for n := range 4 {
		r.append(path(n), reply(1, 100))
	}
	r.start()
	r.settle("at the start")
	for round := range 50 {
		for n := range 4 {
			r.append(path(n), reply(2+round, 200))
		}
		r.settle(fmt.Sprintf("round %d", round))
	}
	r.stop()
}
