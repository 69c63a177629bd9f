package observer

import (
	"context"
	"fmt"
	"time"

	"sm/observer/persist"
)

// writer is the state of storing batches. Batches are stored outside the loop,
// one at a time, so that the loop does not wait for the disk. A failed batch is
// retried before later ones.
type writer struct {
	done  chan *batch
	busy  bool
	retry *batch
	last  time.Time // when a transaction last began, or failed
}

// store starts a transaction with the changes unless one is running, and
// reports whether one is running now. While storing fails, waiting requests get
// an error.
func (c *core) store() (busy bool) {
	w := &c.writer
	if w.busy {
		return true
	}
	b := w.retry
	switch {
	case b == nil:
		var any bool
		if b, any = c.take(); !any {
			return false
		}
	case time.Since(w.last) < restEvery:
		refuseAll(c.waiting)
		c.waiting = nil
		return false
	}
	w.retry = nil
	w.busy = true
	w.last = time.Now()
	// The channel has room for the result, so this goroutine ends by itself;
	// storeLast waits for it.
	go func() {
		before := b.err
		b.err = nil
		if !c.dryRun { // the next observer sends the notices
			b.Encode()
			b.err = c.app.store.Save(b.Delta, b.Values...)
		}
		if b.err != nil && before == nil {
			c.log.Error(
				"cannot store state; watching goes on, and it is tried again each second",
				"err", b.err,
			)
		} else if b.err == nil && before != nil {
			c.log.Info("state is stored again")
		}
		w.done <- b
	}()
	return true
}

// stored handles the end of a transaction: it starts the effects, or keeps the
// batch for a retry.
func (c *core) stored(ctx context.Context, b *batch) {
	c.writer.busy = false
	if b.err != nil {
		refuseAll(b.waiting)
		b.waiting = nil
		c.writer.retry = b
		c.writer.last = time.Now()
		return
	}
	c.fleet.Stored(b.Delta)
	for _, request := range b.waiting {
		request.answer <- nil
	}
	c.app.begin(ctx, b.effects)
}

// batch has the changes of one transaction, and the effects and requests that
// wait for it. err is the error of the last attempt.
type batch struct {
	persist.Batch
	effects []effect
	waiting []waiter
	err     error
}

// waiter is a request that is answered once its change is stored. The channel
// has room for the answer. undo, if not nil, reverts the change.
type waiter struct {
	answer chan<- error
	undo   func()
}

// refuseAll reverts and refuses changes that could not be stored. Their clients
// will send them again.
func refuseAll(list []waiter) {
	for _, w := range list {
		if w.undo != nil {
			w.undo()
		}
		w.answer <- errNotStored
	}
}

// storeLast stores the remaining changes at the end, and starts their effects.
// Changes that it cannot store are read again at the next start.
func (c *core) storeLast(ctx context.Context) error {
	var err error
	for range 3 { // the running transaction, a retry, and later changes
		c.writer.last = time.Time{}
		if !c.store() {
			break
		}
		b := <-c.writer.done
		c.stored(ctx, b)
		err = b.err
	}
	refuseAll(c.waiting)
	if err != nil {
		return fmt.Errorf("store the last changes: %w; they are read again at the next start", err)
	}
	return nil
}
