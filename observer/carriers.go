package observer

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/observer/wire"
	"sm/transcript/claude/hook"
	"sm/transcript/wording"
)

// Messages reach an agent by the answer to a hook (answer), by the prompt of a client
// that restarts (carried), or at its prompt (carry).

const (
	// The pauses after a refusal, for example because of a draft or a dialog.
	firstRefusal, longestRefusal = 2 * time.Second, 30 * time.Second
	// maxStops is how many answers to Stop hooks in a row may make the client
	// continue.
	maxStops = 8
	// maxCarried is how many messages the prompt of a restarted client carries,
	// besides the prompt of the handoff.
	maxCarried = 4
)

// carry offers waiting messages to the agents that are idle at their prompt.
func (c *core) carry(now time.Time) {
	if c.dryRun {
		return
	}
	for _, agent := range c.queue.Waits() {
		k := &c.agents.of(agent).typing
		if c.rotations.Open(agent).ID != "" || k.busy || now.Before(k.after) {
			continue // a message would begin another turn before the handoff
		}
		if !c.byQueue(agent, now) {
			c.byTerminal(agent, now)
		}
	}
}

// byQueue adds a message to the queue that a client keeps for a thread: nothing
// is typed, and no shell reads it. It reports whether the agent has a thread
// with a queue.
func (c *core) byQueue(agent string, now time.Time) bool {
	thread, rests, open := c.fleet.Thread(agent, now)
	a := c.app
	if !open || a.o.Enqueuer == nil {
		return false
	}
	if !rests || c.engine.Agent(agent).Compacting {
		return true
	}
	m := c.queue.Enqueue(agent, thread.ID, now)
	if m.ID == "" {
		return true
	}
	text := a.o.Sanitise(m.Line()) + strings.TrimPrefix(m.Mark(), m.ID)
	c.deliver(m, func(ctx context.Context, still func(context.Context) error) (bool, error) {
		select { // the client's command takes half a second of a core
		case a.queueing <- struct{}{}:
			defer func() { <-a.queueing }()
		case <-ctx.Done():
			return false, ctx.Err()
		}
		if err := still(ctx); err != nil {
			return false, err
		}
		return a.o.Enqueuer.Enqueue(ctx, thread, m.Mark(), text)
	}, func(c *core, agent string) bool {
		now, _, ok := c.fleet.Thread(agent, time.Now())
		return ok && now.ID == thread.ID
	})
	return true
}

// byTerminal types at the agent's prompt. If the agent's hooks work, it types a
// call, and the hook fetches the message: a shell that has replaced the client
// never gets text of others. Without hooks it types sm's own words alone,
// unless the configuration allows all texts.
func (c *core) byTerminal(agent string, now time.Time) {
	place, idle := c.idle(agent, now)
	terminal := c.app.o.Terminal
	if !idle || terminal == nil {
		return
	}
	var m outbox.Message
	var text string
	if c.hooksWork(agent) {
		m = c.queue.Call(agent, now)
		text = m.Call()
	} else {
		m = c.queue.Offer(agent, outbox.Tmux, now,
			func(m *outbox.Message) bool { return m.Typeable(c.settings.TypeTexts) })
		text = m.Typed()
	}
	if m.ID == "" {
		return
	}
	c.deliver(m, func(ctx context.Context, still func(context.Context) error) (bool, error) {
		return terminal.Type(ctx, place, text, false, still)
	}, func(c *core, agent string) bool { return c.waitsAt(agent, place) })
}

// deliver runs put, which delivers an offered message, as an effect. put must
// call still last, which checks that the offer is still valid: it may have been
// withdrawn, or replaced by the answer to a hook. there means that the client
// may have the message; an error without there, that it does not. reaches
// reports whether put would still reach the agent.
func (c *core) deliver(
	m outbox.Message,
	put func(ctx context.Context, still func(context.Context) error) (there bool, err error),
	reaches func(c *core, agent string) bool,
) {
	a := c.app
	c.agents.of(m.To).typing.busy = true
	c.logOffer(&m)
	c.effect(func(ctx context.Context) outcome {
		there, err := put(ctx, a.still(func(c *core) bool {
			now, holds := c.offered(&m)
			return holds && reaches(c, now.To)
		}))
		return func(c *core, now time.Time) { c.delivered(&m, there, err, now) }
	})
}

// offered returns the present message of an earlier offer, as its agent may
// have got another id. holds reports whether the offer is still valid.
func (c *core) offered(as *outbox.Message) (m outbox.Message, holds bool) {
	m = c.queue.Find(as.ID)
	if m.ID == "" {
		return *as, false
	}
	return m, m.State == outbox.Offered && m.Offered.Equal(as.Offered)
}

// delivered records the result of put: the message was delivered, and the
// transcript will show it; it may have been delivered, and the transcript
// decides; or nothing happened.
func (c *core) delivered(as *outbox.Message, there bool, err error, now time.Time) {
	m, holds := c.offered(as)
	k := &c.agents.of(m.To).typing
	k.busy = false
	queued := as.Via == outbox.Queued
	log := c.log.With("agent", m.To, "id", as.ID, "via", as.Via, "offers", as.Offers)
	if !there {
		if holds {
			c.queue.Unoffer(as.ID)
		}
		level := slog.LevelDebug // refusals at a prompt are frequent
		if queued && k.pause == 0 && !errors.Is(err, errBusy) {
			level = slog.LevelWarn
		}
		k.pause = min(max(firstRefusal, 2*k.pause), longestRefusal)
		k.after = now.Add(k.pause)
		log.Log(context.Background(), level, "a message is not delivered yet", "err", err)
		return
	}
	if as.Calling && holds {
		k.called = true // until a hook comes
	}
	if queued {
		c.queue.Placed(as.ID)
	}
	k.pause = 0
	if err == nil || queued {
		log.Info("message delivered")
		return
	}
	log.Warn("a message may have been typed", "err", err)
	k.pause = longestRefusal
	k.after = now.Add(k.pause)
}

// logOffer logs an offer. Offers at a prompt are often refused and only logged
// for debugging.
func (c *core) logOffer(m *outbox.Message) {
	level := slog.LevelDebug
	if m.Via == outbox.Hook || m.Via == outbox.Restart {
		level = slog.LevelInfo
	}
	c.log.Log(
		context.Background(), level, "message offered",
		"agent", m.To,
		"id", m.ID,
		"via", m.Via,
		"offers", m.Offers,
	)
}

// idle reports whether an agent's client is idle at its prompt, and where.
func (c *core) idle(agent string, now time.Time) (place fleet.Place, ok bool) {
	if c.engine.Agent(agent).Compacting {
		return place, false
	}
	return c.fleet.Idle(agent, now)
}

// waitsAt reports whether an agent's client is idle at its prompt in a place.
func (c *core) waitsAt(agent string, place fleet.Place) bool {
	at, idle := c.idle(agent, time.Now())
	return idle && at == place
}

// hooksWork reports whether the agent's session has sent a hook, and another one
// if a call was typed since.
func (c *core) hooksWork(agent string) bool {
	return c.fleet.HooksSeen(agent) && !c.agents.look(agent).typing.called
}

// waitsFor returns what a waiting message needs besides the right moment:
// "hooks" if it can only be delivered by a hook, and no hook of the agent's
// session is known to work.
func (c *core) waitsFor(m *outbox.Message) string {
	_, _, open := c.fleet.Thread(m.To, time.Now())
	queued := open && c.app.o.Enqueuer != nil
	typed := c.app.o.Terminal != nil && m.Typeable(c.settings.TypeTexts)
	if m.State != outbox.Waiting || queued ||
		c.reachable(m.To) && (c.sessionOf(m.To) == "" || c.hooksWork(m.To) || typed) {
		return ""
	}
	return api.WaitsForHooks
}

// messageOf converts a message for the API, and adds what it waits for.
func (c *core) messageOf(m outbox.Message) api.Message {
	out := wire.Message(m)
	out.WaitsFor = c.waitsFor(&m)
	return out
}

// answer returns the reply to a hook, with at most one message, which then
// counts as offered, and its id. A prompt that is a call for a message gets
// that message.
func (c *core) answer(
	agent string,
	p *hook.Payload,
	now time.Time,
) (answer hook.Answer, offered string) {
	if c.dryRun || agent == "" {
		return answer, ""
	}
	var m outbox.Message
	id, called := outbox.Called(p.Prompt)
	if called = called && p.Event == hook.UserPromptSubmit; called {
		answer = hook.Answer{Event: p.Event, Context: inVain}
		c.agents.of(agent).starting = false
		if c.caughtUp { // before, it is unknown which messages were read
			m = c.queue.Answer(agent, id, now)
		}
	} else if least, takes := c.takes(agent, p); takes {
		// At the start in a pane the model would see the answer only with the
		// next prompt. Such messages are typed instead, which starts a turn.
		typed := p.Event == hook.SessionStart && c.agents.look(agent).starting
		m = c.queue.Offer(agent, outbox.Hook, now, func(m *outbox.Message) bool {
			return m.Mode >= least && (!typed || m.Key.Agent == agent)
		})
	}
	if m.ID == "" {
		return answer, ""
	}
	if p.Event == hook.Stop {
		c.agents.of(agent).stops++
	}
	c.logOffer(&m)
	return hook.Answer{Event: p.Event, Context: c.app.o.Sanitise(m.Line())}, m.ID
}

// takes reports whether the answer to a hook may contain a message, and the
// least mode of that message. A client that compacts would pass the message to
// the summarizer.
func (c *core) takes(agent string, p *hook.Payload) (least alerts.Mode, ok bool) {
	if !c.caughtUp || !p.Event.TakesContext() {
		return 0, false
	}
	stopAnswered := c.clients.Named(p.SM.Client).
		StopAnswered(c.fleet.ClientVersion(p.SessionID), p.AgentType)
	x := c.agents.of(agent)
	switch p.Event {
	case hook.SessionStart:
		x.starting = p.SM.Pane != "" && p.Source != "compact"
		return alerts.Sequential, true
	case hook.SubagentStart:
		return alerts.Sequential, true
	case hook.UserPromptSubmit:
		if x.starting {
			x.starting = false
			return alerts.Sequential, true
		}
	case hook.Stop:
		if stopAnswered && !p.StopHookActive {
			x.stops = 0
		}
		// A handoff that waits for the end of the turn would be delayed.
		pending := c.rotations.Open(agent).ID != ""
		return alerts.Sequential, stopAnswered && !pending && x.stops < maxStops
	}
	if !stopAnswered { // no Stop hook will carry sequential messages
		return alerts.Sequential, true
	}
	return alerts.Important, true
}

// inVain is the answer to a call whose message is not delivered: the call alone
// would mean nothing to the agent.
const inVain = wording.Message +
	"That message was read before, was taken back, or is given by another hook. Go on."

// carried offers waiting messages for the prompt of a client that `sm run` is
// about to start, one message a line. No shell reads that prompt. It omits
// notices about the context that ends and messages about handoffs, which do not
// concern the next context.
func (c *core) carried(r *rotation.Rotation, now time.Time) (lines []string) {
	if r.Way != rotation.WayRestart {
		return nil
	}
	lasting := func(m *outbox.Message) bool {
		return m.Key.Agent != r.Agent && !strings.HasPrefix(m.Ref, handoffRef)
	}
	for len(lines) < maxCarried {
		m := c.queue.Offer(r.Agent, outbox.Restart, now, lasting)
		if m.ID == "" {
			break
		}
		c.logOffer(&m)
		lines = append(lines, c.app.o.Sanitise(m.Line()))
	}
	return lines
}

// notCarried undoes the offers in the prompt of a client that was not started.
func (c *core) notCarried(agent string) {
	for _, m := range c.queue.Of(agent) {
		if m.State == outbox.Offered && m.Via == outbox.Restart {
			c.queue.Unoffer(m.ID)
		}
	}
}

// compacting logs that an agent's client begins to compact, with the size of
// its context, and whether the agent had read a notice in time to hand over.
func (c *core) compacting(agent string, trigger string) {
	v := c.engine.Agent(agent)
	notice := "too late"
	for _, m := range c.queue.Of(agent) {
		ours := m.Key.Agent == agent && m.Key.Cycle == v.Cycle &&
			(m.Key.Kind == alerts.KindWarning || m.Key.Kind == alerts.KindCritical)
		switch {
		case !ours:
		case m.State == outbox.Confirmed:
			notice = "read"
		case m.Offers > 0 && notice != "read":
			notice = "offered"
		}
	}
	log := c.log.With("agent", agent, "trigger", oneLine(trigger), "notice", notice)
	if v.Known {
		log = log.With("tokens", v.Tokens, "window", v.Window, "used_percentage", v.Percent)
	}
	log.Warn("a compaction begins")
}
