package observer

import (
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/fleet"
	"sm/transcript"
	"sm/transcript/clients/clientstest"
)

// failing is a disk that refuses some times, and keeps what it takes.
type failing struct {
	refuse int
	taken  []fleet.Delta
}

func (d *failing) save(b *batch) error {
	if d.refuse > 0 {
		d.refuse--
		return errors.New("no space left on device")
	}
	d.taken = append(d.taken, b.Delta)
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

func applied(t *testing.T, paths ...string) *core {
	t.Helper()
	e, err := alerts.New(alerts.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	f := fleet.New(fleet.Options{Clients: clientstest.Table()}, fleet.Stored{Created: time.Unix(1, 0)})
	f.Settle(time.Unix(1, 0))
	for _, p := range paths {
		f.Apply(transcript.Change{Cursor: transcript.Cursor{Path: p}, Name: p, Whole: true})
	}
	return &core{
		fleet:     f,
		engine:    e,
		queue:     outbox.New(outbox.Defaults()),
		rotations: rotation.New(rotation.Options{}),
		edits:     new(atomic.Uint64),
	}
}

// TestWriterTriesAgain: what could not be stored comes first when the disk takes
// something again, and nothing is lost.
func TestWriterTriesAgain(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	disk := &failing{refuse: 2}
	w := newWriter(disk.save, slog.New(slog.NewTextHandler(&log, nil)))
	c := applied(t, "/a")
	for range 3 {
		w.after = time.Time{}
		if busy := w.offer(c); !busy {
			t.Fatal("nothing offered")
		}
		c.fleet.Apply(transcript.Change{Cursor: transcript.Cursor{Path: "/b"}, Name: "/b", Whole: true})
		w.saved(c, <-w.done)
	}
	if err := w.last(c, func([]effect) {}); err != nil {
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
	t.Parallel()
	disk := &failing{refuse: 9}
	w := newWriter(disk.save, slog.New(slog.DiscardHandler))
	err := w.last(applied(t, "/a"), func([]effect) {})
	if err == nil || !strings.Contains(err.Error(), "no space left") ||
		!strings.HasSuffix(err.Error(), "read again at the next start") {
		t.Errorf("error %v", err)
	}
}
