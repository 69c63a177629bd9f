package observer

import (
	"cmp"
	"context"
	"errors"
	"time"

	"sm/alerts"
	"sm/handoff"
	"sm/handoff/rotation"
	"sm/observer/documents"
)

// run types the text, if its agent still runs where it ran when the message was offered.
func (e typeEffect) run(ctx context.Context, r *effectRunner) outcome {
	typed, err := r.terminal.Type(ctx, e.place, e.text, func(ctx context.Context) error {
		return r.still(ctx, func(c *core) bool {
			place, idle := c.delivery.idle(c.delivery.addressee(&e.message), time.Now())
			return idle && place == e.place && c.delivery.offered(&e.message)
		})
	})
	return hasTyped{e, typed, err}
}

// errBusy means that an agent is at work again.
var errBusy = errors.New("the agent is at work again; it is told between its tool calls")

// hasTyped is the outcome of a typeEffect.
type hasTyped struct {
	typeEffect
	typed bool
	err   error
}

func (o hasTyped) apply(c *core, now time.Time) {
	c.delivery.hasTyped(o.typeEffect, o.typed, o.err, now)
}

// run types the text, if the agent still runs where it ran, and its handoff has not gone on.
func (e ownEffect) run(ctx context.Context, r *effectRunner) outcome {
	out := ownTyped{ownEffect: e, err: errBusy}
	if e.place.PID == 0 {
		return out
	}
	act := r.terminal.Type
	if e.finish {
		act = r.terminal.Finish
	}
	out.typed, out.err = act(ctx, e.place, e.text, func(ctx context.Context) error {
		return r.still(ctx, func(c *core) bool {
			place, idle := c.delivery.idle(e.rotation.Agent, time.Now())
			x, known := c.rotations.Find(e.rotation.ID)
			s, _ := c.fleet.Location(e.rotation.Agent)
			return idle && place == e.place && known && x.State == e.rotation.State && (e.prompt || s.Session == x.Left)
		})
	})
	return out
}

// ownTyped is the outcome of an ownEffect.
type ownTyped struct {
	ownEffect
	typed bool
	err   error
}

func (o ownTyped) apply(c *core, now time.Time) {
	agent := o.rotation.Agent
	if r, known := c.rotations.Find(o.rotation.ID); known {
		agent = r.Agent // it may have got another id since
	}
	c.agents.of(agent).typing = typingState{}
	level := c.log.Info
	switch {
	case o.finish && !o.typed:
		level = c.log.Debug
	case o.err != nil:
		level = c.log.Warn
	}
	level(
		"handoff typed",
		"agent",
		o.rotation.Agent,
		"id",
		o.rotation.ID,
		"state",
		o.rotation.State,
		"finish",
		o.finish,
		"typed",
		o.typed,
		"err",
		o.err,
	)
	c.handoffs.step(rotation.Typed{
		ID:      o.rotation.ID,
		Prompt:  o.prompt,
		Finish:  o.finish,
		Pressed: o.typed,
		Reason:  reasonOf(o.err),
		At:      now,
	}, now)
}

// reasonOf is the word for an error of the terminal.
func reasonOf(err error) string {
	var said interface{ Word() string }
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errBusy):
		return rotation.ReasonBusy
	case errors.As(err, &said):
		return said.Word()
	}
	return "unknown"
}

func (e issueEffect) run(context.Context, *effectRunner) outcome { return e }

func (e issueEffect) apply(c *core, _ time.Time) {
	if r, ok := c.rotations.Find(e.rotation.ID); ok && r.State == rotation.Clearing {
		c.handoffs.order(r)
	}
}

func (e prepareEffect) run(_ context.Context, r *effectRunner) outcome {
	doc, written, err := r.documents.Keep(&e.rotation, documents.Source{
		Transcript: e.transcript,
		PID:        e.pid,
		Reread:     e.reread,
	}, !e.leave, time.Now())
	if e.leave {
		if err != nil {
			r.log.Warn("the document of an agent that has ended is not kept", "agent", e.rotation.Agent, "err", err)
		}
		return nil
	}
	now := time.Now()
	in := rotation.Prepared{
		ID:       e.rotation.ID,
		Document: doc.ID,
		Channel:  doc.Channel,
		Read:     doc.Path,
		Written:  written,
		At:       now,
	}
	if e.rotation.Auto() {
		in.Read = doc.File
	}
	if typed := e.rotation.Way != rotation.WayRestart; err == nil && typed && !alerts.Plain(in.Read) {
		in.Plain = doc.File
		if !alerts.Plain(in.Plain) {
			err = documents.ErrNotPlain
		}
	}
	if err != nil {
		r.log.Warn("the document of a handoff is not fit", "agent", e.rotation.Agent, "id", e.rotation.ID, "err", err)
		in.Reason = documents.Reason(err)
	}
	return prepared{in}
}

// prepared is the outcome of a prepareEffect.
type prepared struct{ rotation.Prepared }

func (o prepared) apply(c *core, now time.Time) {
	if r, known := c.rotations.Find(o.ID); known && r.State == rotation.Reserved && o.Reason == "" {
		o.Messages = c.delivery.carried(&r, now)
	}
	c.handoffs.step(o.Prepared, now)
}

func (e consumeEffect) run(_ context.Context, r *effectRunner) outcome {
	d := r.documents
	if d.Store() == nil || e.document == "" {
		return nil
	}
	err := d.Store().Consume(cmp.Or(e.channel, d.Channel(e.dir).Name), e.document, e.session, e.pid, time.Now())
	if err != nil && !errors.Is(err, handoff.ErrNoDocument) {
		r.log.Warn("a document cannot be marked as read", "id", e.document, "err", err)
	}
	return nil
}

func (e withdrawEffect) run(_ context.Context, r *effectRunner) outcome {
	if err := r.documents.Store().Withdraw(e.channel, e.document, time.Now()); err != nil {
		r.log.Warn("the copy of a document that is not needed cannot be withdrawn", "id", e.document, "err", err)
	}
	return nil
}

func (e freshenEffect) run(_ context.Context, r *effectRunner) outcome {
	r.guard.Freshen(&e.rotation, e.at.PID, e.at.Start)
	return nil
}
