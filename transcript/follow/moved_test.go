package follow

import (
	"fmt"
	"os"
	"testing"
)

// TestMovedAndRemoved tests a deadlock in fsnotify: when a watched folder is moved and then
// removed, it reports an error while it holds a lock that adding a watch waits for. A loop
// that also receives that error would hang.
func TestMovedAndRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.Rescan = 0
	a := r.path("-p", idA+".jsonl")
	r.append(a, reply(1, 100))
	r.start()
	const folders = 20
	for round := range 60 {
		for i := range folders {
			r.must(os.Mkdir(r.path(fmt.Sprint("-q", i)), 0o700))
		}
		r.append(
			r.path(fmt.Sprint("-q", folders-1), idB+".jsonl"),
			reply(1, 100),
		) // all are watched when this file is found
		r.settle("new folders")
		for i := range folders {
			r.must(os.Rename(r.path(fmt.Sprint("-q", i)), r.path("moved")))
			r.must(os.RemoveAll(r.path("moved")))
			r.must(os.Mkdir(r.path(fmt.Sprint("-r", i)), 0o700))
		}
		r.append(a, reply(10+round, 100))
		r.settle(fmt.Sprintf("round %d: moved and removed", round))
		for i := range folders {
			r.must(os.Remove(r.path(fmt.Sprint("-r", i))))
		}
	}
	r.stop()
}

func (r *rig) must(err error) {
	r.t.Helper()
	noErrors(r.t, err)
}
