package observer

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestCaughtUpIsTold once, with the number of idle transcripts.
func TestCaughtUpIsTold(t *testing.T) {
	r := newWatched(t)
	for n := range 3 {
		path := filepath.Join(r.o.Projects[0], "-home-dev-api", uuid(n+1)+".jsonl")
		appendLines(t, path, reply(ago(48*time.Hour), "m1", 1000, 10))
		noErrors(t, os.Chtimes(path, time.Time{}, time.Now().Add(-48*time.Hour)))
	}
	told := make(chan int, 2)
	r.o.CaughtUp = func(transcripts int) { told <- transcripts }
	r.start()
	if n := <-told; n != 3 {
		t.Errorf("%d transcripts, want 3", n)
	}
	r.stop()
	if len(told) > 0 {
		t.Error("told twice")
	}
}
