package observer

import (
	"context"
	"errors"
	"strings"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/observer/fleet"
)

// enqueue offers the best message that waits for an agent to the queue of its client. Any text may go there: nothing is
// typed, and no shell reads it.
func (d *delivery) enqueue(agent alerts.AgentID, thread fleet.Thread, now time.Time) {
	if v, known := d.engine.Agent(agent); known && v.Compacting {
		return
	}
	m, ok := d.queue.Enqueue(agent, thread.ID, now)
	if !ok {
		return
	}
	d.agents.of(agent).typing.busy = true
	d.log.Debug("message offered", "agent", agent, "id", m.ID, "via", m.Via, "offers", m.Offers)
	text := d.sanitise(m.Line()) + strings.TrimPrefix(m.Mark(), string(m.ID))
	d.effects.add(queueEffect{message: m, text: text, thread: thread})
}

// queueEffect puts a message into the queue of a client.
type queueEffect struct {
	message outbox.Message
	text    string
	thread  fleet.Thread
}

// run puts the text there, if the offer still stands, and the agent is still in the thread. The client's command takes half a
// second of a core: few run at a time.
func (e queueEffect) run(ctx context.Context, r *effectRunner) outcome {
	select {
	case r.queueing <- struct{}{}:
		defer func() { <-r.queueing }()
	case <-ctx.Done():
		return nil
	}
	fits := func(c *core) bool {
		thread, _, ok := c.fleet.Thread(c.delivery.addressee(&e.message), time.Now())
		return ok && thread.ID == e.thread.ID && c.delivery.offered(&e.message)
	}
	if err := r.still(ctx, fits); err != nil {
		return enqueued{e, false, err}
	}
	placed, err := r.enqueuer.Enqueue(ctx, e.thread, e.message.Mark(), e.text)
	return enqueued{e, placed, err}
}

// enqueued is the outcome of a queueEffect.
type enqueued struct {
	queueEffect
	placed bool
	err    error
}

// apply takes note of what became of a message: it is in the queue, and the transcript will show it; or it is not.
func (o enqueued) apply(c *core, now time.Time) {
	m := o.message
	m.To = c.delivery.addressee(&m)
	state := c.agents.of(m.To)
	k := typingState{calls: state.typing.calls}
	if !o.placed && c.delivery.offered(&m) {
		c.queue.Unoffer(m.ID, now)
	}
	switch {
	case o.placed:
		c.queue.Placed(m.ID)
		c.log.Info("message queued", "agent", m.To, "id", m.ID, "thread", o.thread.ID, "offers", m.Offers)
	case errors.Is(o.err, errBusy):
		c.log.Debug("a message is not to go into the queue any more", "agent", m.To, "id", m.ID, "thread", o.thread.ID)
	default:
		level := c.log.Warn
		if state.typing.pause > 0 { // it has been said
			level = c.log.Debug
		}
		k.pause = min(max(firstRefusal, 2*state.typing.pause), longestRefusal)
		level("a message is not queued", "agent", m.To, "id", m.ID, "thread", o.thread.ID, "err", o.err)
	}
	k.after = now.Add(k.pause)
	state.typing = k
}
