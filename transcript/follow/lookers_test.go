package follow

import (
	"fmt"
	"testing"
	"time"
)

// TestWrittenWithoutTail tests that lines of a file without a tail are read when inotify
// reports them, without waiting for a check.
func TestWrittenWithoutTail(t *testing.T) {
	r := newRig(t)
	r.o.Tails = 1
	r.o.Check = time.Hour
	for n := range 4 {
		r.append(r.numbered(n), reply(1, 100))
	}
	r.start()
	r.settle("at the start")
	for round := range 50 {
		for n := range 4 {
			r.append(r.numbered(n), reply(2+round, 200))
		}
		r.settle(fmt.Sprintf("round %d", round))
	}
	r.stop()
}
