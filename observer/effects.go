package observer

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"sm/observer/documents"
	"sm/observer/levels"
	"sm/observer/notify"
	"sm/observer/overflow"
)

type quickEffect interface{ do(r *effectRunner) }

type slowEffect interface {
	// run does the effect; the outcome is nil when the loop need not know.
	run(ctx context.Context, r *effectRunner) outcome
}

// outcome is what has become of an effect. The loop takes note of it.
type outcome interface{ apply(c *core, now time.Time) }

// effectRunner does effects beside the loop: quick ones in their order.
type effectRunner struct {
	log       *slog.Logger
	levels    string // the folder of level files
	settings  *atomic.Pointer[Settings]
	terminal  Terminal
	enqueuer  Enqueuer
	queueing  chan struct{} // has a place for each that may put a message into a queue at the same time
	documents *documents.Keeper
	guard     *overflow.Guarding
	ask       func(context.Context, func(*core) error) error // the loop, which knows whether an effect still fits
	report    func(context.Context, outcome)                 // to the loop
	ctx       context.Context                                // ends with the observer
	slow      sync.WaitGroup

	notify  notify.Command
	mu      sync.Mutex
	waiting []effect
	news    chan struct{}
	ended   chan struct{}
}

// startEffects begins to do effects; end waits for the last.
func (a *App) startEffects(ctx context.Context) *effectRunner {
	r := &effectRunner{
		log: a.log, levels: filepath.Join(
			a.o.State,
			"context-status",
		), settings: &a.settings, terminal: a.o.Terminal, enqueuer: a.o.Enqueuer,
		documents: a.documents, guard: a.guard, ask: a.ask, ctx: ctx, news: make(
			chan struct{},
			1,
		), ended: make(chan struct{}),
		queueing: make(chan struct{}, 2),
		report: func(ctx context.Context, o outcome) {
			now := time.Now()
			// The loop has stopped; the result is dropped. A typed text stays offered until the
			// transcript decides, and the next observer continues a handoff.
			_ = a.update(ctx, func(c *core) error { o.apply(c, now); return nil })
		},
	}
	go r.run()
	return r
}

// do takes effects over and never blocks.
func (r *effectRunner) do(list []effect) {
	if len(list) == 0 {
		return
	}
	r.mu.Lock()
	r.waiting = append(r.waiting, list...)
	r.mu.Unlock()
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// writeLevels writes what transcripts alone have changed of level files; what is being stored may hold older ones.
func (r *effectRunner) writeLevels(c *core, w *writer) {
	if !w.busy && w.retry == nil {
		c.levels.Take(func(changes *levels.Changes) { r.do([]effect{levelEffect{changes}}) })
	}
}

// end does what is left and ends the runner.
func (r *effectRunner) end() {
	close(r.news)
	<-r.ended
}

func (r *effectRunner) run() {
	defer close(r.ended)
	defer r.slow.Wait()
	for more := true; more; {
		_, more = <-r.news
		r.mu.Lock()
		list := r.waiting
		r.waiting = nil
		r.mu.Unlock()
		for _, e := range list {
			r.begin(e)
		}
	}
}

// begin does a quick effect, and begins a slow one: it may take seconds, and no other waits for that.
func (r *effectRunner) begin(e effect) {
	switch e := e.(type) {
	case quickEffect:
		e.do(r)
	case slowEffect:
		r.slow.Go(func() {
			if o := e.run(r.ctx, r); o != nil {
				r.report(r.ctx, o)
			}
		})
	}
}

// still asks the loop whether an effect may go on. errBusy means that it may not.
func (r *effectRunner) still(ctx context.Context, fits func(*core) bool) error {
	return r.ask(ctx, func(c *core) error {
		if !fits(c) {
			return errBusy
		}
		return nil
	})
}

func (e levelEffect) do(r *effectRunner) {
	e.Write(
		r.levels,
		func(agent string, err error) { r.log.Warn("cannot write a level file", "agent", agent, "err", err) },
	)
}

// do logs the notice and passes it to the operator's command, without waiting
// for it. A kill in between loses the notice: it is sent at most once.
func (o operatorEffect) do(r *effectRunner) {
	r.log.Warn("notice for the operator", "key", o.key, "text", o.text)
	if argv := r.settings.Load().Notify; len(argv) > 0 {
		r.slow.Go(func() {
			if err := r.notify.Run(r.ctx, argv, o.text); err != nil {
				r.log.Warn("operator.notify has failed", "command", argv[0], "err", err)
			}
		})
	}
}
