package observer

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"time"

	"sm/observer/levels"
	"sm/observer/notify"
)

// An effect runs outside the loop, once the changes that led to it are stored.
// Its outcome may be nil.
type effect func(ctx context.Context) outcome

// An outcome is applied in the loop.
type outcome func(*core, time.Time)

// begin starts effects. Each has its own goroutine, as one may take seconds.
func (a *App) begin(ctx context.Context, list []effect) {
	for _, e := range list {
		a.effects.Go(func() {
			apply := e(ctx)
			if apply == nil {
				return
			}
			now := time.Now()
			// If the loop has stopped, the outcome is dropped. A typed text
			// stays offered until the transcript decides, and the next observer
			// continues a handoff.
			_ = a.update(ctx, func(c *core) error { apply(c, now); return nil })
		})
	}
}

// errBusy means that an agent is working again.
var errBusy = errors.New("the agent is at work again; it gets the text between its tool calls")

// still returns a function that evaluates fits in the loop, and returns errBusy
// if it is false.
func (a *App) still(fits func(*core) bool) func(context.Context) error {
	return func(ctx context.Context) error {
		return a.ask(ctx, func(c *core) error {
			if !fits(c) {
				return errBusy
			}
			return nil
		})
	}
}

// notifyOperator logs notices and, unless this is a dry run, passes them to the
// operator's command. A kill in between loses them: they are sent at most once.
func (a *App) notifyOperator(notices []notify.Notice) effect {
	return func(ctx context.Context) outcome {
		for _, n := range notices {
			a.log.Warn("notice for the operator", "key", n.Key, "text", cmp.Or(n.Log, n.Text))
			if a.o.DryRun {
				continue
			}
			if err := a.settings.Load().Operator.Notify(ctx, n); err != nil {
				a.log.Warn("a notice has not reached the operator", "key", n.Key, "err", err)
			}
		}
		return nil
	}
}

// writeLevels writes the changed level files, unless a write is in progress:
// the newest line must be written last.
func (a *App) writeLevels(ctx context.Context, c *core) {
	if c.writing || len(c.levels) == 0 && !c.allLevels {
		return
	}
	c.writing = true
	lines := c.levels
	all := c.allLevels
	c.levels = map[string]string{}
	c.allLevels = false
	a.effects.Go(func() {
		levels.Write(filepath.Join(a.o.State, "context-status"), lines, all, a.log)
		_ = a.do(ctx, func(c *core) { c.writing = false }) // or the loop has ended
	})
}
