package observer

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sm/observer/fleet"
	"sm/transcript"
)

// failing is a disk that refuses some times, and keeps what it takes.
type failing struct {
	refuse int
	taken  []fleet.Delta
}

func (d *failing) save(delta fleet.Delta) error {
	if d.refuse > 0 {
		d.refuse--
		return errors.New("no space left on device")
	}
	d.taken = append(d.taken, delta)
	return nil
}

func (d *failing) paths() (list []string) {
	for _, delta := range d.taken {
		for _, f := range delta.Files {
			list = append(list, f.Cursor.Path)
		}
	}
	return list
}

func applied(paths ...string) *fleet.Fleet {
	f := fleet.New(fleet.Options{}, fleet.Stored{Created: time.Unix(1, 0)})
	f.Settle()
	for _, p := range paths {
		f.Apply(transcript.Change{Cursor: transcript.Cursor{Path: p}, Name: p, Whole: true})
	}
	return f
}

// TestWriterTriesAgain: what could not be stored comes first when the disk takes
// something again, and nothing is lost.
func TestWriterTriesAgain(t *testing.T) {
	var log strings.Builder
	disk := &failing{refuse: 2}
	w := newWriter(disk.save, slog.New(slog.NewTextHandler(&log, nil)))
	f := applied("/a")
	for range 3 {
		w.after = time.Time{}
		if busy := w.offer(f); !busy {
			t.Fatal("nothing offered")
		}
		f.Apply(transcript.Change{Cursor: transcript.Cursor{Path: "/b"}, Name: "/b", Whole: true})
		w.saved(f, <-w.done)
	}
	if err := w.last(f); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(disk.paths(), " ")
	if !strings.HasPrefix(got, "/a") || !strings.Contains(got, "/b") {
		t.Errorf("stored %q", got)
	}
	if n := strings.Count(log.String(), "cannot store"); n != 1 {
		t.Errorf("the same failure was logged %d times", n)
	}
}

// TestWriterLastFails: a last transaction that fails is the observer's failure.
func TestWriterLastFails(t *testing.T) {
	disk := &failing{refuse: 9}
	w := newWriter(disk.save, slog.New(slog.DiscardHandler))
	err := w.last(applied("/a"))
	if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.HasSuffix(err.Error(), "read again at the next start") {
		t.Errorf("error %v", err)
	}
}
