package observer

import (
	"fmt"
	"log/slog"
	"time"

	"sm/observer/persist"
)

// writer stores batches outside the loop, one at a time, so that the loop does
// not wait for the disk. A batch that could not be stored is tried again; later
// batches wait.
type writer struct {
	save  func(*batch) error
	log   *slog.Logger
	done  chan *batch
	busy  bool
	retry *batch
	after time.Time // of the next try
	began time.Time // the last transaction did
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
	w.busy = true
	w.began = time.Now()
	// The channel has room for the one outcome, so this ends by itself; last waits
	// for it.
	go func() {
		before := b.err
		b.err = w.save(b)
		if b.err != nil && before == nil {
			w.log.Error(
				"cannot store state; watching goes on, and it is tried again each second",
				"err", b.err,
			)
		} else if b.err == nil && before != nil {
			w.log.Info("state is stored again")
		}
		w.done <- b
	}()
	return true
}

// saved takes note of an outcome, and gives what is to be done now.
func (w *writer) saved(c *core, b *batch) []effect {
	w.busy = false
	if b.err != nil {
		refuseAll(b.waiting)
		b.waiting = nil
		w.retry = b
		w.after = time.Now().Add(retryEvery)
		return nil
	}
	c.fleet.Stored(b.Delta)
	for _, request := range b.waiting {
		request.answer <- nil
	}
	return b.effects
}

// batch is what one transaction holds, and what follows when it is stored. err is why
// it could not be stored last.
type batch struct {
	persist.Batch
	effects []effect
	waiting []waiter
	err     error
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
		w.answer <- errNotStored
	}
}

// last stores what is left at the end, and does what follows. What it cannot store is
// read again at the next start.
func (w *writer) last(c *core, do func([]effect)) error {
	var err error
	for range 3 { // what is being stored, what is to be retried, and what came after
		w.after = time.Time{}
		if !w.offer(c) {
			break
		}
		b := <-w.done
		do(w.saved(c, b))
		err = b.err
	}
	refuseAll(c.waiting)
	if err != nil {
		return fmt.Errorf("store the last changes: %w; they are read again at the next start", err)
	}
	return nil
}
