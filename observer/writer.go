package observer

import (
	"fmt"
	"log/slog"
	"time"

	"sm/observer/fleet"
)

// writer stores deltas beside the loop, one at a time, so that the disk delays
// nobody. A delta that could not be stored is tried again until it can: what comes
// after it waits in the fleet.
type writer struct {
	save  func(fleet.Delta) error
	log   *slog.Logger
	done  chan saved
	busy  bool
	retry *fleet.Delta
	after time.Time // of the next try
	told  string    // the failure that has been logged
}

// saved is the outcome of one transaction.
type saved struct {
	delta fleet.Delta
	err   error
}

func newWriter(save func(fleet.Delta) error, log *slog.Logger) *writer {
	return &writer{save: save, log: log, done: make(chan saved, 1)}
}

// offer begins to store what has changed, unless the last transaction still runs,
// and reports whether one runs now.
func (w *writer) offer(f *fleet.Fleet) (busy bool) {
	if w.busy {
		return true
	}
	var d fleet.Delta
	switch {
	case w.retry != nil && time.Now().Before(w.after):
		return false
	case w.retry != nil:
		d, w.retry = *w.retry, nil
	default:
		var any bool
		if d, any = f.Take(); !any {
			return false
		}
	}
	w.busy = true
	// The channel has room for the one outcome, so this ends by itself; last waits
	// for it.
	go func() { w.done <- saved{d, w.save(d)} }()
	return true
}

// saved takes note of an outcome.
func (w *writer) saved(f *fleet.Fleet, s saved) {
	w.busy = false
	if s.err == nil {
		f.Stored(s.delta)
		if w.told != "" {
			w.told = ""
			w.log.Info("state is stored again")
		}
		return
	}
	w.retry, w.after = &s.delta, time.Now().Add(retryEvery)
	if msg := s.err.Error(); msg != w.told {
		w.told = msg
		w.log.Error("cannot store state; watching goes on, and it is tried again each second", "err", s.err)
	}
}

// last stores what is left at the end. What it cannot store is read again at the
// next start.
func (w *writer) last(f *fleet.Fleet) error {
	if w.busy {
		w.saved(f, <-w.done)
	}
	for range 2 { // what is to be retried, and what came after it
		w.after = time.Time{}
		if busy := w.offer(f); !busy {
			return nil
		}
		s := <-w.done
		if w.saved(f, s); s.err != nil {
			return fmt.Errorf("store the last changes: %w; they are read again at the next start", s.err)
		}
	}
	return nil
}
