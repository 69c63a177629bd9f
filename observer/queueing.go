package observer

import (
	"context"
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
	m, ok := d.queue.Offer(agent, outbox.Queued, alerts.Sequential, now)
	if !ok {
		return
	}
	d.agents.of(agent).typing.busy = true
	d.log.Debug("message offered", "agent", agent, "id", m.ID, "via", m.Via, "offers", m.Offers)
	d.effects.add(queueEffect{message: m, text: d.sanitise(m.Line()), thread: thread})
}

// queueEffect puts a message into the queue of a client.
type queueEffect struct {
	message outbox.Message
	text    string
	thread  fleet.Thread
}

func (e queueEffect) run(ctx context.Context, r *effectRunner) outcome {
	placed, err := r.enqueuer.Enqueue(ctx, e.thread, string(e.message.ID), e.text)
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
	m, known := c.queue.Find(o.message.ID)
	if !known {
		m = o.message
	}
	state := c.agents.of(m.To)
	k := typingState{calls: state.typing.calls}
	switch {
	case o.placed:
		c.queue.Placed(m.ID)
		c.log.Info("message queued", "agent", m.To, "id", m.ID, "thread", o.thread.ID, "offers", m.Offers, "err", o.err)
	default:
		if known && m.State == outbox.Offered && m.Via == outbox.Queued && m.Offers == o.message.Offers {
			c.queue.Unoffer(m.ID, now)
		}
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
