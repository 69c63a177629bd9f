package observer

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"sm/observer/fleet"
	"sm/observer/metrics"
	"sm/transcript"
	"sm/transcript/follow"
)

const (
	// storeEvery is the longest delay before a change is stored. Changes that
	// transcripts repeat, and that have no effects, wait for restEvery, as the
	// transcripts are read again after a kill. A failed transaction waits for
	// restEvery, too.
	storeEvery = 250 * time.Millisecond
	restEvery  = time.Second
	// namesEvery is how often the file names in the state directory are
	// checked.
	namesEvery = 2 * time.Second
	// garbageMany is the number of changes after which memory is released in
	// the next pause of garbageAfter. Reading and storing leave garbage that
	// would otherwise stay until the next collection, which may be far off in a
	// quiet fleet. garbageValues stored values count as one change.
	garbageMany, garbageAfter, garbageValues = 100, 2 * storeEvery, 4
)

// loop owns all state until ctx ends. Then it waits for the follower, applies
// the follower's last changes, and stores them.
func (a *App) loop(ctx context.Context) {
	c := a.core
	cursors := c.fleet.Cursors()
	var follower sync.WaitGroup
	follower.Go(func() { runFollower(ctx, a, cursors) })
	store := time.Tick(storeEvery)
	garbage := garbageMany + 1 // loading the state leaves garbage, too
	changed := time.Time{}
	for running := true; running; {
		select {
		case change, ok := <-a.changes:
			if running = ok; ok {
				a.apply(c, &change)
				garbage++
				changed = time.Now()
			}
		case f := <-a.calls:
			f(c)
		case p := <-a.named:
			c.naming = false
			c.fleet.NameProject(p.dir, p.name)
			c.edits.Add(1)
			c.nameNext()
		case entries := <-a.clients:
			c.registry = true
			c.applyOrDefer(c.fleet.Clients(entries), time.Now())
			c.registry = false
		case now := <-store:
			c.pass(now)
			if c.every(namesEvery, "names", now) {
				if err := a.store.CheckNames(); err != nil {
					a.fail(err)
				}
			}
			a.writeLevels(ctx, c)
			due := c.signaled || len(c.effects)+len(c.notices)+len(c.waiting) > 0 ||
				now.Sub(c.writer.last) >= restEvery
			if !due && now.Sub(changed) < storeEvery {
				break
			}
			if busy := c.store(); !busy && garbage > garbageMany && c.caughtUp &&
				now.Sub(changed) > garbageAfter {
				garbage = 0
				a.work.Go(func() { // release the garbage of reading and storing
					if err := a.store.Release(); err != nil {
						a.log.Debug("memory cannot be released", "err", err)
					}
					debug.FreeOSMemory()
				})
			}
		case done := <-c.writer.done:
			garbage += len(done.Values) / garbageValues
			c.stored(ctx, done)
		}
		if len(c.waiting) > 0 {
			c.store()
		}
	}
	follower.Wait()
	a.lastErr = c.storeLast(ctx)
	a.effects.Wait()
	c.writing = false
	a.writeLevels(ctx, c)
	a.effects.Wait()
}

// runFollower sends the changes of transcripts to the loop until ctx ends.
func runFollower(ctx context.Context, a *App, cursors []transcript.Cursor) {
	defer close(a.changes)
	var roots []follow.Root
	for _, c := range a.o.Clients {
		for _, dir := range c.Dirs {
			roots = append(roots, follow.Root{Path: dir, Format: c.Format})
		}
	}
	follow.Run(ctx, follow.Options{
		Roots:     roots,
		ActiveFor: fleet.ActiveFor,
		Logger:    a.log.With("component", "follow"),
		Stats:     a.stats,
		Clients:   a.clients,
		Bills:     true,
		Learnt:    a.remembered,
		Learn:     a.learnt,
		Alive:     a.o.Alive,
	}, cursors, a.changes)
}

// apply applies a change of a transcript.
func (a *App) apply(c *core, change *transcript.Change) {
	for _, u := range change.Unknown {
		c.unknown[metrics.Unknown{Client: change.Client, Kind: u.Kind}] += u.Count
		c.log.Debug(
			"unknown name in a transcript",
			"client", change.Client,
			"kind", u.Kind.String(),
			"name", u.Name,
			"count", u.Count,
		)
	}
	switch {
	case change.CaughtUp:
		a.caughtUp(c)
	case !c.caughtUp && c.fleet.Settled() && c.arrivals.Hold(change):
	default:
		now := time.Now()
		c.clock(now)
		c.apply(c.fleet.Apply(*change), now)
	}
}

// caughtUp applies the changes and signals that were deferred during catch-up,
// and starts the policy.
func (a *App) caughtUp(c *core) {
	now := time.Now()
	if !c.fleet.Settled() {
		c.apply(c.fleet.Settle(now), now)
	}
	c.arrivals.Release(func(change transcript.Change) { c.apply(c.fleet.Apply(change), now) })
	c.caughtUp = true
	for _, ev := range append(c.fleet.Seen(), c.fleet.Resting(now)...) {
		c.act(c.engine.Step(ev), now)
	}
	for _, n := range c.deferred {
		c.apply(n, now)
	}
	c.deferred = nil
	c.setLevels()
	c.pass(now)
	if a.o.CaughtUp != nil {
		a.o.CaughtUp(int(a.stats.Parked.Load()))
	}
	a.log.Info("caught up", "files", a.stats.FilesDone.Load(), "bytes", a.stats.BytesDone.Load())
	close(a.ready)
}
