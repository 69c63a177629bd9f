package observer

import (
	"context"
	"strings"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/observer/fleet"
)

// enqueue offers the best message that waits for an agent to the queue of its client. Any text may go there: nothing is
// typed, and no shell reads it.
func (c *core) enqueue(agent alerts.AgentID, thread fleet.Thread, now time.Time) {
	if v, known := c.engine.Agent(agent); known && v.Compacting {
		return
	}
	m, ok := c.queue.Enqueue(agent, thread.ID, now)
	if !ok {
		return
	}
	c.agents.of(agent).typing.busy = true
	c.log.Debug(
		"message offered",
		"agent", agent,
		"id", m.ID,
		"via", m.Via,
		"offers", m.Offers,
	)
	text := c.app.o.sanitise(m.Line()) + strings.TrimPrefix(m.Mark(), string(m.ID))
	c.effect(c.app.putInto(thread, m, text))
}

// putInto puts a message into the queue of a client, if the offer still holds and
// the agent is still in the thread. The client's command takes half a second of a
// core: few run at a time.
func (a *App) putInto(thread fleet.Thread, m outbox.Message, text string) effect {
	return func(ctx context.Context) func(*core, time.Time) {
		select {
		case a.queueing <- struct{}{}:
			defer func() { <-a.queueing }()
		case <-ctx.Done():
			return nil
		}
		placed := false
		err := a.still(ctx, func(c *core) bool {
			now, _, ok := c.fleet.Thread(c.addressee(&m), time.Now())
			return ok && now.ID == thread.ID && c.offered(&m)
		})
		if err == nil {
			placed, err = a.o.Enqueuer.Enqueue(ctx, thread, m.Mark(), text)
		}
		return func(c *core, now time.Time) { c.delivered(&m, placed, err, now) }
	}
}
