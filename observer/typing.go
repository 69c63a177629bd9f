package observer

import (
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
func (d *delivery) typeToIdle(now time.Time) {
	if d.terminal == nil && d.enqueuer == nil || d.dryRun || d.queue.Waiting() == 0 || now.Sub(d.typed) < typeEvery {
		return
	}
	d.typed = now
	for _, agent := range d.queue.Waits() {
		k := &d.agents.of(agent).typing
		if _, pending := d.rotations.Open(agent); pending || k.busy || now.Before(k.after) {
			continue // a message would begin another turn before the handoff
		}
		if thread, rests, ok := d.fleet.Thread(agent, now); ok && d.enqueuer != nil {
			if rests {
				d.enqueue(agent, thread, now)
			}
			continue
		}
		place, idle := d.idle(agent, now)
		if !idle || d.terminal == nil {
			continue
		}
		m, text, ok := d.offerTyped(agent, now)
		if !ok {
			continue
		}
		k.busy = true
		d.log.Debug(
			"message offered",
			"agent", agent,
			"id", m.ID,
			"via", m.Via,
			"called", m.Calling,
			"offers", m.Offers,
		)
		d.effects.add(typeEffect{message: m, text: text, place: place})
	}
}

// idle reports whether an agent waits at its prompt, and where.
func (d *delivery) idle(agent alerts.AgentID, now time.Time) (place fleet.Place, ok bool) {
	if v, known := d.engine.Agent(agent); known && v.Compacting {
		return place, false
	}
	return d.fleet.Idle(agent, now)
}

// offerTyped finds what is typed to an agent. Where its hooks work that is a call, whose text
// the hook asks for: so nothing that somebody wrote can come to a shell that stands where the
// client was a moment ago. Where they do not, what is typed whole is in sm's own words, unless
// the configuration allows all texts.
func (d *delivery) offerTyped(agent alerts.AgentID, now time.Time) (m outbox.Message, text string, ok bool) {
	if d.hooksWork(agent) {
		m, ok = d.queue.Call(agent, now)
		return m, m.Call(), ok
	}
	m, ok = d.queue.OfferOf(agent, outbox.Tmux, alerts.Sequential, now, func(m *outbox.Message) bool {
		return m.Typeable(d.settings.TypeTexts)
	})
	return m, m.Typed(), ok
}

// hooksWork reports whether the agent's session has sent a hook, and not many
// tool calls have come without one since.
func (d *delivery) hooksWork(agent alerts.AgentID) bool {
	return d.fleet.HooksSeen(agent) && d.agents.look(agent).typing.calls < maxCalls
}

// hookCame takes note of a hook of an agent's client.
func (d *delivery) hookCame(agent alerts.AgentID) {
	if x := d.agents[agent]; x != nil {
		x.typing.calls = 0
	}
}

// waitsFor returns what a waiting message needs besides the right moment:
// "hooks" if no hook of the agent's session is known to work, and the text is not
// typed.
func (d *delivery) waitsFor(m *outbox.Message) string {
	if _, _, open := d.fleet.Thread(m.To, time.Now()); open && d.enqueuer != nil {
		return ""
	}
	s, known := d.fleet.Location(m.To)
	if m.State != outbox.Waiting || !known || s.Session == "" || d.hooksWork(m.To) ||
		d.terminal != nil && m.Typeable(d.settings.TypeTexts) {
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
func (d *delivery) answerCall(
	agent alerts.AgentID,
	id outbox.ID,
	now time.Time,
) (answer hook.Answer, offered outbox.ID) {
	answer = hook.Answer{Event: hook.UserPromptSubmit, Context: callLater}
	if !d.caughtUp {
		return answer, "" // what has been heard is not known yet
	}
	if m, ok := d.queue.Answer(agent, id, now); ok {
		d.log.Info(
			"message offered",
			"agent", agent,
			"id", m.ID,
			"via", m.Via,
			"event", answer.Event,
			"offers", m.Offers,
		)
		answer.Context = d.sanitise(m.Line())
		return answer, m.ID
	}
	if m, known := d.queue.Find(id); !known || m.To != agent || m.State.Ended() {
		answer.Context = callOver
	}
	return answer, ""
}

// typeEffect types a message.
type typeEffect struct {
	message outbox.Message
	text    string
	place   fleet.Place
}

// offered reports whether an offer to a terminal or queue still holds. It may
// have been given up, withdrawn, or replaced by the answer to a hook.
func (d *delivery) offered(as *outbox.Message) bool {
	m, known := d.queue.Find(as.ID)
	return known && m.State == outbox.Offered && m.Via == as.Via && m.Offers == as.Offers && m.Calling == as.Calling
}

// addressee is whom a message is for: the agent may have got another id since it was offered.
func (d *delivery) addressee(as *outbox.Message) alerts.AgentID {
	if m, known := d.queue.Find(as.ID); known {
		return m.To
	}
	return as.To
}

// hasTyped takes note of what became of a message: it was typed, and the transcript will
// show it; it may have been, and the transcript decides; or nothing has happened.
func (d *delivery) hasTyped(e typeEffect, typed bool, err error, now time.Time) {
	agent := d.addressee(&e.message)
	state := d.agents.of(agent)
	k := typingState{calls: state.typing.calls}
	if typed && e.message.Calling {
		k.calls++ // until a hook comes
	}
	switch {
	case err == nil:
		d.log.Info("message typed", "agent", agent, "id", e.message.ID, "offers", e.message.Offers)
	case typed:
		d.log.Warn("a message may have been typed", "agent", agent, "id", e.message.ID, "err", err)
		k.pause = longestRefusal
	default:
		if d.offered(&e.message) {
			d.queue.Unoffer(e.message.ID, now)
		}
		k.pause = min(max(firstRefusal, 2*state.typing.pause), longestRefusal)
		d.log.Debug("a message waits for the prompt", "agent", agent, "id", e.message.ID, "err", err)
	}
	k.after = now.Add(k.pause)
	state.typing = k
}
