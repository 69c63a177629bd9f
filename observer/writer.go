package observer

import (
	"fmt"
	"log/slog"
	"time"

	"sm/observer/persist"
	"sm/observer/respond"
)

// writer stores batches outside the loop, one at a time, so that the loop does
// not wait for the disk. A batch that could not be stored is tried again; later
// batches wait.
type writer struct {
	save   func(*batch) error
	log    *slog.Logger
	done   chan saved
	busy   bool
	retry  *batch
	after  time.Time // of the next try
	began  time.Time // the last transaction did
	logged string    // the failure that has been logged
}

// saved is the outcome of one transaction.
type saved struct {
	batch *batch
	err   error
}

func newWriter(save func(*batch) error, log *slog.Logger) *writer {
	return &writer{save: save, log: log, done: make(chan saved, 1)}
}

// due reports whether changes have to be stored now.
func (w *writer) due(c *core, now time.Time) bool {
	return c.signaled || len(c.effects)+len(c.notices)+len(c.waiting)+len(c.roots) > 0 ||
		w.retry != nil ||
		now.Sub(w.began) >= restEvery
}

// offer starts to store the changes unless a transaction is running, and reports
// whether one is running now. While storing fails, waiting requests get an error.
func (w *writer) offer(c *core) (busy bool) {
	if w.busy {
		return true
	}
	var b *batch
	switch {
	case w.retry != nil && time.Now().Before(w.after):
		refuseAll(c.waiting)
		c.waiting = nil
		return false
	case w.retry != nil:
		b = w.retry
		w.retry = nil
	default:
		var any bool
		if b, any = c.take(); !any {
			return false
		}
	}
	w.busy, w.began = true, time.Now()
	// The channel has room for the one outcome, so this ends by itself; last waits
	// for it.
	go func() { w.done <- saved{b, w.save(b)} }()
	return true
}

// saved takes note of an outcome, and gives what is to be done now.
func (w *writer) saved(c *core, s saved) []effect {
	w.busy = false
	if s.err == nil {
		c.fleet.Stored(s.batch.Delta)
		for _, w := range s.batch.waiting {
			w.answer <- nil
		}
		if w.logged != "" {
			w.logged = ""
			w.log.Info("state is stored again")
		}
		return s.batch.effects
	}
	refuseAll(s.batch.waiting)
	s.batch.waiting = nil
	w.retry, w.after = s.batch, time.Now().Add(retryEvery)
	if msg := s.err.Error(); msg != w.logged {
		w.logged = msg
		w.log.Error(
			"cannot store state; watching goes on, and it is tried again each second",
			"err", s.err,
		)
	}
	return nil
}

// batch is what one transaction holds, and what follows when it is stored.
type batch struct {
	persist.Batch
	effects []effect
	waiting []waiter
}

// waiter is a request that is answered once its change is stored. The channel has
// room for the answer.
type waiter struct {
	answer chan<- error
	undo   func()
}

// refuseAll answers requests whose changes could not be stored: they will be sent
// again.
func refuseAll(list []waiter) {
	for _, w := range list {
		w.undo()
		w.answer <- respond.ErrNotStored
	}
}

// last stores what is left at the end, and does what follows. What it cannot store is
// read again at the next start.
func (w *writer) last(c *core, do func([]effect)) error {
	if w.busy {
		do(w.saved(c, <-w.done))
	}
	for range 2 { // what is to be retried, and what came after it
		w.after = time.Time{}
		if busy := w.offer(c); !busy {
			return nil
		}
		s := <-w.done
		if do(w.saved(c, s)); s.err != nil {
			return fmt.Errorf(
				"store the last changes: %w; they are read again at the next start",
				s.err,
			)
		}
	}
	return nil
}
