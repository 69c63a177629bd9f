package observer

import (
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/transcript/claude/hook"
)

// delivery brings what waits in the queue to its agent: with the answer to a hook, typed at its prompt, or in the prompt
// of a client that is restarted.
type delivery struct {
	*parts
	terminal Terminal
	typed    time.Time // when it was looked who waits at a prompt
}

// maxStops is how many answers to Stop hooks in a row make the client go on.
const maxStops = 8

// answer is what a hook is told: at most one message, which has been offered then. A prompt
// that is a call is answered with the message that it names.
func (d *delivery) answer(agent alerts.AgentID, p *hook.Payload, now time.Time) (answer hook.Answer, offered outbox.ID) {
	if id, called := outbox.Called(p.Prompt); called && p.Event == hook.UserPromptSubmit && !d.dryRun && agent != "" && !p.Subagent() {
		return d.answerCall(agent, id, now)
	}
	if m, ok := d.offer(agent, p, now); ok {
		return hook.Answer{Event: p.Event, Context: d.sanitise(m.Line())}, m.ID
	}
	return hook.Answer{}, ""
}

// offer finds the message that the answer to a hook carries to its agent. A subagent's
// goes nowhere, and a client that compacts would give it to the summariser.
func (d *delivery) offer(agent alerts.AgentID, p *hook.Payload, now time.Time) (m outbox.Message, ok bool) {
	if !d.caughtUp || d.dryRun || agent == "" || p.Subagent() || !p.Event.TakesContext() {
		return m, false
	}
	least := alerts.Important
	stopHeard := hook.StopHeard(d.fleet.ClientVersion(p.SessionID))
	switch {
	case p.Event == hook.SessionStart:
		least = alerts.Sequential
	case p.Event == hook.Stop && !stopHeard:
		return m, false
	case !stopHeard: // sequential messages cannot wait for the end of the turn
		least = alerts.Sequential
	case p.Event == hook.Stop:
		if !p.StopHookActive {
			d.agents.of(agent).stops = 0
		}
		if _, pending := d.rotations.Open(agent); pending || d.agents.look(agent).stops >= maxStops {
			return m, false // what waits for the end of the turn would not come to it
		}
		least = alerts.Sequential
	}
	if m, ok = d.queue.Offer(agent, outbox.Hook, least, now); !ok {
		return m, false
	}
	if p.Event == hook.Stop {
		d.agents.of(agent).stops++
	}
	d.log.Info("message offered", "agent", agent, "id", m.ID, "via", m.Via, "event", p.Event, "offers", m.Offers)
	return m, true
}
