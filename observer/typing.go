package observer

import (
	"context"
	"errors"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/transcript/claude/hook"
	"sm/transcript/wording"
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
	// calls counts those in a row after which no hook has come.
	calls int
}

// callsMost is how many calls without a hook say that the hooks of a session do not work,
// or not any more.
const callsMost = 3

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
		m, text, ok := c.offerTyped(agent, now)
		if !ok {
			continue
		}
		k.busy = true
		c.carriers[agent] = k
		c.log.Debug("message offered", "agent", agent, "id", m.ID, "via", m.Via, "called", m.Calling, "offers", m.Offers)
		c.effects = append(c.effects, typeEffect{message: m, text: text, place: place})
	}
}

// idle says whether an agent sits at its prompt, and where.
func (c *core) idle(agent alerts.AgentID, now time.Time) (place fleet.Place, ok bool) {
	if v, known := c.engine.Agent(agent); known && v.Compacting {
		return place, false
	}
	return c.fleet.Idle(agent, now)
}

// offerTyped finds what is typed to an agent. Where its hooks work that is a call, whose text
// the hook asks for: so nothing that somebody wrote can come to a shell that stands where the
// client was a moment ago. Where they do not, what is typed whole is in sm's own words, unless
// the configuration allows all texts.
func (c *core) offerTyped(agent alerts.AgentID, now time.Time) (m outbox.Message, text string, ok bool) {
	if c.hooksWork(agent) {
		m, ok = c.queue.Call(agent, now)
		return m, m.Call(), ok
	}
	m, ok = c.queue.OfferTyped(agent, c.settings.TypeTexts, now)
	return m, m.Typed(), ok
}

// hooksWork says whether a hook of the agent's session has come, and not too many calls have
// stayed without one since.
func (c *core) hooksWork(agent alerts.AgentID) bool {
	return c.fleet.HooksSeen(agent) && c.carriers[agent].calls < callsMost
}

// hookCame takes note of a hook of an agent's client.
func (c *core) hookCame(agent alerts.AgentID) {
	if k, known := c.carriers[agent]; known && k.calls > 0 {
		k.calls = 0
		c.carriers[agent] = k
	}
}

// waitsFor says what a message that waits needs besides the moment: "hooks" where no hook of
// the agent's session is known to work, and the text is not typed.
func (c *core) waitsFor(m *outbox.Message) string {
	s, known := c.fleet.Seated(m.To)
	if m.State != outbox.Waiting || !known || s.Session == "" || c.hooksWork(m.To) || c.terminal != nil && m.Typeable(c.settings.TypeTexts) {
		return ""
	}
	return api.WaitsForHooks
}

// The answers to a call whose message is not given.
const (
	callLater = wording.Message + "That message has been given by another hook, or follows by one. Go on."
	callOver  = wording.Message + "That message is not there any more. It was read before, or taken back. Go on."
)

// answerCall gives the message that a call names, once. An agent that asks in vain hears so,
// or it would wonder about its prompt.
func (c *core) answerCall(agent alerts.AgentID, id outbox.ID, now time.Time) (answer hook.Answer, offered outbox.ID) {
	answer = hook.Answer{Event: hook.UserPromptSubmit, Context: callLater}
	if !c.caughtUp {
		return answer, "" // what has been heard is not known yet
	}
	if m, ok := c.queue.Answer(agent, id, now); ok {
		c.log.Info("message offered", "agent", agent, "id", m.ID, "via", m.Via, "event", answer.Event, "offers", m.Offers)
		answer.Context = c.sanitise(m.Line())
		return answer, m.ID
	}
	if m, known := c.queue.Find(id); !known || m.To != agent || m.State.Ended() {
		answer.Context = callOver
	}
	return answer, ""
}

// renameCarrier moves what is known of typing to an agent that has another id now.
func (c *core) renameCarrier(from, to alerts.AgentID) {
	if k, known := c.carriers[from]; known {
		other := c.carriers[to]
		k.busy = k.busy || other.busy
		if other.after.After(k.after) {
			k.after, k.pause = other.after, other.pause
		}
		c.carriers[to] = k
		delete(c.carriers, from)
	}
	if n := c.stops[from]; n > 0 {
		c.stops[to] = max(n, c.stops[to])
		delete(c.stops, from)
	}
}

// typeEffect types a message, and tells the loop what became of it.
type typeEffect struct {
	message outbox.Message
	text    string
	place   fleet.Place
}

// do begins the typing: it may take seconds, and no pane waits for another.
func (e typeEffect) do(p *performer) {
	p.typing.Go(func() { p.app.typeOne(p.ctx, e) })
}

// errBusy says that an agent is at work again.
var errBusy = errors.New("the agent is at work again; it is told between its tool calls")

func (a *App) typeOne(ctx context.Context, e typeEffect) {
	typed, err := a.o.Terminal.Type(ctx, e.place, e.text, func(ctx context.Context) error {
		still := false
		if err := a.do(ctx, func(c *core) {
			place, idle := c.idle(c.typedTo(e), time.Now())
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
	return known && m.State == outbox.Offered && m.Via == outbox.Tmux && m.Offers == e.message.Offers && m.Calling == e.message.Calling
}

// typedTo is whom a typing is for: the agent may have got another id since it began.
func (c *core) typedTo(e typeEffect) alerts.AgentID {
	if m, known := c.queue.Find(e.message.ID); known {
		return m.To
	}
	return e.message.To
}

// hasTyped takes note of what became of a message: it was typed, and the transcript will
// show it; it may have been, and the transcript decides; or nothing has happened.
func (c *core) hasTyped(e typeEffect, typed bool, err error, now time.Time) {
	agent := c.typedTo(e)
	old := c.carriers[agent]
	k := carrier{calls: old.calls}
	if typed && e.message.Calling {
		k.calls++ // until a hook comes
	}
	switch {
	case err == nil:
		c.log.Info("message typed", "agent", agent, "id", e.message.ID, "offers", e.message.Offers)
	case typed:
		c.log.Warn("a message may have been typed", "agent", agent, "id", e.message.ID, "err", err)
		k.pause = longestRefusal
	default:
		if c.offered(e) {
			c.queue.Unoffer(e.message.ID, now)
		}
		k.pause = min(max(firstRefusal, 2*old.pause), longestRefusal)
		c.log.Debug("a message waits for the prompt", "agent", agent, "id", e.message.ID, "err", err)
	}
	k.after = now.Add(k.pause)
	c.carriers[agent] = k
}
