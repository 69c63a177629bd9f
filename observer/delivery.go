package observer

import (
	"strings"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/api"
	"sm/observer/wire"
	"sm/transcript/claude/hook"
)

// maxStops is how many answers to Stop hooks in a row make the client go on.
const maxStops = 8

// answer returns the reply to a hook, with at most one message, which then counts
// as offered. A prompt that calls for a message gets that message.
func (c *core) answer(
	agent alerts.AgentID,
	p *hook.Payload,
	now time.Time,
) (answer hook.Answer, offered outbox.ID) {
	if id, called := outbox.Called(p.Prompt); called && p.Event == hook.UserPromptSubmit &&
		!c.dryRun &&
		agent != "" &&
		!p.Subagent() {
		return c.answerCall(agent, id, now)
	}
	if m, ok := c.offer(agent, p, now); ok {
		return hook.Answer{Event: p.Event, Context: c.app.o.sanitise(m.Line())}, m.ID
	}
	return hook.Answer{}, ""
}

// offer finds the message that the answer to a hook carries to its agent. A subagent's
// goes nowhere, and a client that compacts would give it to the summariser.
func (c *core) offer(
	agent alerts.AgentID,
	p *hook.Payload,
	now time.Time,
) (m outbox.Message, ok bool) {
	if !c.caughtUp || c.dryRun || agent == "" || p.Subagent() || !p.Event.TakesContext() {
		return m, false
	}
	least := alerts.Important
	client := c.clients.Named(p.SM.Client)
	stopHeard := client.StopAnswered(c.fleet.ClientVersion(p.SessionID), p.AgentType)
	switch {
	case p.Event == hook.SessionStart || p.Event == hook.SubagentStart:
		least = alerts.Sequential
	case p.Event == hook.Stop && !stopHeard:
		return m, false
	case !stopHeard: // sequential messages cannot wait for the end of the turn
		least = alerts.Sequential
	case p.Event == hook.Stop:
		if !p.StopHookActive {
			c.agents.of(agent).stops = 0
		}
		if _, pending := c.rotations.Open(agent); pending ||
			c.agents.look(agent).stops >= maxStops {
			return m, false // what waits for the end of the turn would not come to it
		}
		least = alerts.Sequential
	}
	if m, ok = c.queue.Offer(agent, outbox.Hook, least, now); !ok {
		return m, false
	}
	if p.Event == hook.Stop {
		c.agents.of(agent).stops++
	}
	c.log.Info(
		"message offered",
		"agent", agent,
		"id", m.ID,
		"via", m.Via,
		"event", p.Event,
		"offers", m.Offers,
	)
	return m, true
}

// message is a message as the API gives it, with what it waits for.
func (c *core) messageOf(m outbox.Message) api.Message {
	out := wire.Message(m)
	out.WaitsFor = c.waitsFor(&m)
	return out
}

// maxCarried is how many messages the prompt of a restarted client carries: what it is to
// go on with comes first.
const maxCarried = 4

// carried offers messages that wait to the prompt of a client that `sm run` is to start,
// each a line. No shell reads that prompt. Notices about the context that ends, and
// those about handoffs, do not concern the next one.
func (c *core) carried(r *rotation.Rotation, now time.Time) (lines []string) {
	if r.Way != rotation.WayRestart || c.dryRun {
		return nil
	}
	lasting := func(m *outbox.Message) bool {
		return m.Key.Agent != r.Agent &&
			!strings.HasPrefix(m.Ref, handoffRef)
	}
	for len(lines) < maxCarried {
		m, ok := c.queue.OfferOf(r.Agent, outbox.Restart, alerts.Sequential, now, lasting)
		if !ok {
			break
		}
		c.log.Info(
			"message offered",
			"agent", r.Agent,
			"id", m.ID,
			"via", m.Via,
			"rotation", r.ID,
			"offers", m.Offers,
		)
		lines = append(lines, c.app.o.sanitise(m.Line()))
	}
	return lines
}

// notCarried takes back what a prompt was to carry whose client was not started.
func (c *core) notCarried(agent alerts.AgentID, now time.Time) {
	for _, m := range c.queue.Of(agent) {
		if m.State == outbox.Offered && m.Via == outbox.Restart {
			c.queue.Unoffer(m.ID, now)
		}
	}
}

// compacting logs that an agent's client sets out to compact: how full its context is, and whether the agent
// had read a notice about it in time to hand over.
func (c *core) compacting(agent alerts.AgentID, trigger string) {
	v, _ := c.engine.Agent(agent) // of one that is not known nothing is
	notice := "too late"
	for _, m := range c.queue.Of(agent) {
		ours := m.Key.Agent == agent && m.Key.Cycle == v.Cycle &&
			(m.Key.Kind == alerts.KindWarning || m.Key.Kind == alerts.KindCritical)
		switch {
		case !ours:
		case m.State == outbox.Confirmed:
			notice = "heard"
		case m.Offers > 0 && notice != "heard":
			notice = "offered"
		}
	}
	usage := []any{"agent", agent, "trigger", oneLine(trigger), "notice", notice}
	if v.Known {
		usage = append(
			usage,
			"tokens",
			v.Tokens,
			"window",
			v.Window,
			"used_percentage",
			v.Percent,
		)
	}
	c.log.Warn("a compaction begins", usage...)
}
