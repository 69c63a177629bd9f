package observer

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/transcript/claude/hook"
	"sm/transcript/wording"
)

const (
	// typeEvery is how often it is looked who waits at a prompt.
	typeEvery = time.Second
	// The pauses after a refusal, say of a draft or a dialog: it may last.
	firstRefusal, longestRefusal = 2 * time.Second, 30 * time.Second
)

// maxCalls is how many calls without a hook say that the hooks of a session do not work,
// or not any more.
const maxCalls = 3

// typeToIdle offers waiting messages to the agents that wait at their prompt.
func (c *core) typeToIdle(now time.Time) {
	if c.app.o.Terminal == nil && c.app.o.Enqueuer == nil || c.dryRun ||
		c.queue.Waiting() == 0 ||
		!c.every(typeEvery, "type", now) {
		return
	}
	for _, agent := range c.queue.Waits() {
		k := &c.agents.of(agent).typing
		if _, pending := c.rotations.Open(agent); pending || k.busy || now.Before(k.after) {
			continue // a message would begin another turn before the handoff
		}
		if thread, rests, ok := c.fleet.Thread(agent, now); ok && c.app.o.Enqueuer != nil {
			if rests {
				c.enqueue(agent, thread, now)
			}
			continue
		}
		place, idle := c.idle(agent, now)
		if !idle || c.app.o.Terminal == nil {
			continue
		}
		m, text, ok := c.offerTyped(agent, now)
		if !ok {
			continue
		}
		k.busy = true
		c.log.Debug(
			"message offered",
			"agent", agent,
			"id", m.ID,
			"via", m.Via,
			"called", m.Calling,
			"offers", m.Offers,
		)
		c.effect(c.app.typeMessage(m, text, place))
	}
}

// idle reports whether an agent waits at its prompt, and where.
func (c *core) idle(agent alerts.AgentID, now time.Time) (place fleet.Place, ok bool) {
	if v, known := c.engine.Agent(agent); known && v.Compacting {
		return place, false
	}
	return c.fleet.Idle(agent, now)
}

// offerTyped finds what is typed to an agent. Where its hooks work that is a call, whose text
// the hook asks for: so no text of others can come to a shell that stands where the
// client was a moment ago. Where they do not, what is typed whole is in sm's own words, unless
// the configuration allows all texts.
func (c *core) offerTyped(
	agent alerts.AgentID,
	now time.Time,
) (m outbox.Message, text string, ok bool) {
	if c.hooksWork(agent) {
		m, ok = c.queue.Call(agent, now)
		return m, m.Call(), ok
	}
	m, ok = c.queue.OfferOf(agent, outbox.Tmux, alerts.Sequential, now, func(m *outbox.Message) bool {
		return m.Typeable(c.settings.TypeTexts)
	})
	return m, m.Typed(), ok
}

// hooksWork reports whether the agent's session has sent a hook, and not many
// tool calls have come without one since.
func (c *core) hooksWork(agent alerts.AgentID) bool {
	return c.fleet.HooksSeen(agent) && c.agents.look(agent).typing.calls < maxCalls
}

// hookCame takes note of a hook of an agent's client.
func (c *core) hookCame(agent alerts.AgentID) {
	if x := c.agents[agent]; x != nil {
		x.typing.calls = 0
	}
}

// waitsFor returns what a waiting message needs besides the right moment:
// "hooks" if no hook of the agent's session is known to work, and the text is not
// typed.
func (c *core) waitsFor(m *outbox.Message) string {
	if _, _, open := c.fleet.Thread(m.To, time.Now()); open && c.app.o.Enqueuer != nil {
		return ""
	}
	s, known := c.fleet.Location(m.To)
	if m.State != outbox.Waiting || !known || s.Session == "" || c.hooksWork(m.To) ||
		c.app.o.Terminal != nil && m.Typeable(c.settings.TypeTexts) {
		return ""
	}
	return api.WaitsForHooks
}

// The answers to a call whose message is not given.
const (
	callLater = wording.Message + "That message has been given by another hook, or follows by one. Go on."
	callOver  = wording.Message + "That message is not there any more. It was read before, or taken back. Go on."
)

// answerCall returns the message that a call names, once. A call in vain gets an
// explanation, as its prompt would be a riddle to the agent.
func (c *core) answerCall(
	agent alerts.AgentID,
	id outbox.ID,
	now time.Time,
) (answer hook.Answer, offered outbox.ID) {
	answer = hook.Answer{Event: hook.UserPromptSubmit, Context: callLater}
	if !c.caughtUp {
		return answer, "" // which messages were read is not known yet
	}
	if m, ok := c.queue.Answer(agent, id, now); ok {
		c.log.Info(
			"message offered",
			"agent", agent,
			"id", m.ID,
			"via", m.Via,
			"event", answer.Event,
			"offers", m.Offers,
		)
		answer.Context = c.app.o.sanitise(m.Line())
		return answer, m.ID
	}
	if m, known := c.queue.Find(id); !known || m.To != agent || m.State.Ended() {
		answer.Context = callOver
	}
	return answer, ""
}

// typeMessage types a message, if its agent still runs where it ran when the message
// was offered.
func (a *App) typeMessage(m outbox.Message, text string, place fleet.Place) effect {
	return func(ctx context.Context) func(*core, time.Time) {
		typed, err := a.o.Terminal.Type(ctx, place, text, func(ctx context.Context) error {
			return a.still(ctx, func(c *core) bool {
				at, idle := c.idle(c.addressee(&m), time.Now())
				return idle && at == place && c.offered(&m)
			})
		})
		return func(c *core, now time.Time) { c.delivered(&m, typed, err, now) }
	}
}

// offered reports whether an offer to a terminal or queue still holds. It may
// have been given up, withdrawn, or replaced by the answer to a hook.
func (c *core) offered(as *outbox.Message) bool {
	m, known := c.queue.Find(as.ID)
	return known && m.State == outbox.Offered && m.Via == as.Via && m.Offers == as.Offers &&
		m.Calling == as.Calling
}

// addressee is whom a message is for: the agent may have got another id since it was offered.
func (c *core) addressee(as *outbox.Message) alerts.AgentID {
	if m, known := c.queue.Find(as.ID); known {
		return m.To
	}
	return as.To
}

// delivered records what became of a message that was offered to a terminal or
// queue: it is there, and the transcript will show it; it may be there, and the
// transcript decides; or nothing has happened.
func (c *core) delivered(m *outbox.Message, there bool, err error, now time.Time) {
	m.To = c.addressee(m)
	state := c.agents.of(m.To)
	k := typingState{calls: state.typing.calls}
	if there && m.Calling {
		k.calls++ // until a hook comes
	}
	log := c.log.With("agent", m.To, "id", m.ID, "via", m.Via, "offers", m.Offers)
	switch {
	case there && (err == nil || m.Via == outbox.Queued):
		if m.Via == outbox.Queued {
			c.queue.Placed(m.ID)
		}
		log.Info("message delivered")
	case there:
		log.Warn("a message may have been typed", "err", err)
		k.pause = longestRefusal
	default:
		if c.offered(m) {
			c.queue.Unoffer(m.ID, now)
		}
		level := slog.LevelDebug // a prompt is often not free
		if m.Via == outbox.Queued && state.typing.pause == 0 && !errors.Is(err, errBusy) {
			level = slog.LevelWarn
		}
		k.pause = min(max(firstRefusal, 2*state.typing.pause), longestRefusal)
		log.Log(context.Background(), level, "a message is not delivered yet", "err", err)
	}
	k.after = now.Add(k.pause)
	state.typing = k
}
