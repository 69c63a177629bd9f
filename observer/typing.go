package observer

import (
	"context"
	"errors"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/observer/fleet"
)

// Terminal reaches clients that sit at their prompt, where no hook speaks.
type Terminal interface {
	// Type types one line at a client's prompt and presses Enter, if the prompt is empty
	// and idle, asked last before, agrees. typed says that the client may have got the
	// text; with an error and without typed nothing has happened.
	Type(ctx context.Context, at fleet.Place, text string, idle func(context.Context) error) (typed bool, err error)
	// Finish presses Enter if the text stands at the prompt already, exactly and alone, and
	// else does nothing. The results are those of Type.
	Finish(ctx context.Context, at fleet.Place, text string, idle func(context.Context) error) (typed bool, err error)
}

const (
	// typeEvery is how often it is looked who waits at a prompt.
	typeEvery = time.Second
	// The pauses after a refusal, say of a draft or a dialog: it may last.
	firstRefusal, longestRefusal = 2 * time.Second, 30 * time.Second
)

// carrier is what is known of typing to one agent.
type carrier struct {
	busy  bool          // a text is on its way
	after time.Time     // not before, since the last try was refused
	pause time.Duration // that this refusal cost
}

// typeToIdle offers what waits to those who sit at their prompt.
func (c *core) typeToIdle(now time.Time) {
	if c.terminal == nil || c.dryRun || c.queue.Waiting() == 0 || now.Sub(c.typed) < typeEvery && !now.Before(c.typed) {
		return
	}
	c.typed = now
	for _, agent := range c.queue.Waits() {
		k := c.carriers[agent]
		if _, pending := c.rotations.Open(agent); pending || k.busy || now.Before(k.after) {
			continue // a message would begin another turn before the handoff
		}
		place, idle := c.idle(agent, now)
		if !idle {
			continue
		}
		m, ok := c.queue.Offer(agent, outbox.Tmux, alerts.Sequential, now)
		if !ok {
			continue
		}
		k.busy = true
		c.carriers[agent] = k
		c.log.Debug("message offered", "agent", agent, "id", m.ID, "via", m.Via, "offers", m.Offers)
		c.effects = append(c.effects, typeEffect{agent: agent, message: m, place: place})
	}
}

// idle says whether an agent sits at its prompt, and where.
func (c *core) idle(agent alerts.AgentID, now time.Time) (place fleet.Place, ok bool) {
	if v, known := c.engine.Agent(agent); known && v.Compacting {
		return place, false
	}
	return c.fleet.Idle(agent, now)
}

// typeEffect types a message, and tells the loop what became of it.
type typeEffect struct {
	agent   alerts.AgentID
	message outbox.Message
	place   fleet.Place
}

// do begins the typing: it may take seconds, and no pane waits for another.
func (e typeEffect) do(p *performer) {
	p.typing.Go(func() { p.app.typeOne(p.ctx, e) })
}

// errBusy says that an agent is at work again.
var errBusy = errors.New("the agent is at work again; it is told between its tool calls")

func (a *App) typeOne(ctx context.Context, e typeEffect) {
	typed, err := a.o.Terminal.Type(ctx, e.place, e.message.Line(), func(ctx context.Context) error {
		still := false
		if err := a.do(ctx, func(c *core) {
			place, idle := c.idle(e.agent, time.Now())
			still = idle && place == e.place && c.offered(e)
		}); err != nil {
			return err
		}
		if !still {
			return errBusy
		}
		return nil
	})
	now := time.Now()
	// With ctx the loop has ended, and with it whoever could take note: the message stays
	// offered, and the transcript decides.
	_ = a.do(ctx, func(c *core) { c.hasTyped(e, typed, err, now) })
}

// offered says whether the offer that a typing belongs to still stands: it may have been
// given up, withdrawn, or made again by a hook's answer.
func (c *core) offered(e typeEffect) bool {
	m, known := c.queue.Find(e.message.ID)
	return known && m.State == outbox.Offered && m.Via == outbox.Tmux && m.Offers == e.message.Offers
}

// hasTyped takes note of what became of a message: it was typed, and the transcript will
// show it; it may have been, and the transcript decides; or nothing has happened.
func (c *core) hasTyped(e typeEffect, typed bool, err error, now time.Time) {
	k := carrier{}
	switch {
	case err == nil:
		c.log.Info("message typed", "agent", e.agent, "id", e.message.ID, "offers", e.message.Offers)
	case typed:
		c.log.Warn("a message may have been typed", "agent", e.agent, "id", e.message.ID, "err", err)
		k.pause = longestRefusal
	default:
		if c.offered(e) {
			c.queue.Unoffer(e.message.ID, now)
		}
		k.pause = min(max(firstRefusal, 2*c.carriers[e.agent].pause), longestRefusal)
		c.log.Debug("a message waits for the prompt", "agent", e.agent, "id", e.message.ID, "err", err)
	}
	k.after = now.Add(k.pause)
	c.carriers[e.agent] = k
}
