package observer

import (
	"cmp"
	"time"

	"sm/alerts"
	"sm/handoff/rotation"
	"sm/observer/fleet"
	"sm/transcript"
	"sm/transcript/claude/hook"
	"sm/transcript/wording"
)

// clock sets the time before decisions depend on it, so that a clock that was
// set back does not make later events look old.
func (c *core) clock(now time.Time) {
	c.fleet.Clock(now)
	c.engine.SetClock(now)
}

// apply passes an update of the fleet to engine, queue and rotations.
func (c *core) apply(n fleet.Update, now time.Time) {
	c.edits.Add(1)
	for _, r := range n.Renamed {
		c.agents.rename(r.From, r.To)
		if !c.engine.Rename(r.From, r.To) {
			c.queue.Forget(r.From, now)
		}
		c.queue.Rename(r.From, r.To)
		c.perform(c.rotations.Rename(r.From, r.To, now))
		c.setLevel(r.From)
		c.setLevel(r.To)
	}
	for _, l := range n.Observed {
		c.engine.Learn(l)
	}
	for _, h := range n.Received { // first, so that no received message is withdrawn
		agent := h.Agent
		at := cmp.Or(h.At, transcript.InstantOf(now)).Time()
		for _, m := range c.queue.Confirm(agent, h.Text, at) {
			if m.Notice() && m.Key.Agent == agent {
				c.act(c.engine.Step(alerts.Event{
					Kind:   alerts.EventRead,
					Agent:  agent,
					At:     at,
					Notice: m.Key.Kind,
					Cycle:  m.Key.Cycle,
				}), now)
			}
			c.log.Debug("message read", "agent", m.To, "id", m.ID, "via", m.Via)
		}
		session := c.sessionOf(agent)
		r := c.rotations.Open(agent)
		c.rotate(rotation.Prompted{
			Agent:   agent,
			Session: session,
			Text:    h.Text,
			At:      at,
		})
		// This is emitted for each confirmed one, as a kill may have lost its cycle.
		if r = c.rotations.Find(r.ID); r.State == rotation.Confirmed {
			n.Events = append([]alerts.Event{{
				Kind:    alerts.EventReset,
				Agent:   agent,
				At:      at,
				Cause:   alerts.CauseHandoff,
				Handoff: transcript.KeyOf([]byte(r.ID)),
				Key:     transcript.KeyOf([]byte(session)),
			}}, n.Events...)
		}
		if id, ok := wording.DocumentID(h.Text); ok {
			s := c.fleet.Location(agent)
			c.consume(c.channel(s.Project).Name, id, s.Session, s.At.PID)
		}
	}
	for _, ev := range n.Events {
		if ev.Kind == alerts.EventReset {
			// A cleared context confirms the handoff that cleared it.
			if r := c.rotations.Open(ev.Agent); r.State.Touched() {
				ev.Cause = alerts.CauseHandoff
				ev.Handoff = transcript.KeyOf([]byte(r.ID))
			}
			at := ev.At
			if c.registry { // ev.At is the last change of status, which may be earlier
				at = now
			}
			c.rotate(rotation.Started{
				Agent:   ev.Agent,
				Session: c.sessionOf(ev.Agent),
				At:      at,
			})
		}
		if ev.Kind == alerts.EventReading && ev.Tokens > 0 {
			c.agents.curve(ev.Agent, now).Event(&ev)
			// This comes before the policy: the full context may be one that a
			// handoff has begun.
			c.checkFirstReading(&ev)
		}
		before := c.engine.Counters()
		c.act(c.engine.Step(ev), now)
		if ev.Kind == alerts.EventReading {
			c.queue.Reword(c.engine.Warning(ev.Agent))
		}
		c.attempted(ev.Agent, &before, now)
	}
}

// attempted adds the compaction attempts and storms that the engine has counted
// since before to the fleet's counters, as only the fleet has the agent's
// client.
func (c *core) attempted(agent string, before *alerts.Counters, now time.Time) {
	after := c.engine.Counters()
	if after.Attempts == before.Attempts && after.Storms == before.Storms {
		return
	}
	for i, n := range before.Attempts {
		after.Attempts[i] -= n
	}
	v, _ := c.fleet.View(agent, now)
	if v.Path == "" { // without a transcript
		v.Program = c.clients.OfProvider(v.Agent.Provider).Client
	}
	c.fleet.Attempted(v.Program, after.Attempts, after.Storms-before.Storms)
}

const (
	// carryEvery is the interval of continuing handoffs and delivering
	// messages.
	carryEvery = time.Second
	// askEvery is the longest interval between two ticks of the engine.
	askEvery = 5 * time.Second
	// lookEvery is the interval of looking for active agents.
	lookEvery = 10 * time.Second
	// endedEvery is the interval of looking for processes that have ended
	// without a hook.
	endedEvery = 4 * time.Second
)

// every reports whether d has passed since it last returned true for this name.
func (c *core) every(d time.Duration, name string, now time.Time) bool {
	if now.Sub(c.passed[name]) < d {
		return false
	}
	c.passed[name] = now
	return true
}

// pass does the periodic work that is due.
func (c *core) pass(now time.Time) {
	if !c.caughtUp {
		return
	}
	c.nameNext()
	if c.every(endedEvery, "ended", now) {
		if c.fleet.MarkEnded(now) {
			c.edits.Add(1)
			delete(c.passed, "look")
		}
		if c.fleet.Decide(now) {
			c.edits.Add(1)
		}
	}
	// Clients also call the hook PreCompact when they write a summary for later
	// in the background. Then they are at their prompt and no compaction
	// follows.
	before := now.Add(-promptGrace)
	n := c.engine.Dismiss(before, func(agent string) bool { return c.fleet.AtPrompt(agent, before) })
	c.edits.Add(uint64(n))
	if c.every(lookEvery, "look", now) {
		for _, ev := range c.fleet.Activity(now) {
			c.act(c.engine.Step(ev), now)
		}
	}
	if c.every(forgetEvery, "forget", now) {
		c.forget(now)
	}
	if c.settings.Waiting > 0 && c.every(askEvery, "waits", now) {
		c.noticeWaits(now)
	}
	if !now.Before(c.next) {
		c.tick(now)
	}
	if !c.every(carryEvery, "carry", now) {
		return
	}
	for _, n := range c.fleet.Threads(now) {
		c.apply(n, now)
	}
	for _, h := range c.rotations.Recall(c.sessionOf) {
		c.apply(fleet.Update{
			Received: []fleet.Received{{
				Agent: h.Agent,
				Text:  h.Text,
				At:    transcript.InstantOf(h.At),
			}},
		}, now)
	}
	c.passHandoffs(now)
	c.queue.Leave(c.sessionOf)
	c.carry(now)
	c.queue.Check(now, func(agent string, answered time.Time) (time.Time, bool) {
		// Until a client that is being restarted shows its prompt, its
		// transcript does not show which messages are missing.
		if r := c.rotations.Open(agent); r.Way == rotation.WayRestart && r.State.Touched() {
			return time.Time{}, true
		}
		return c.fleet.ReadUntil(agent, answered, now)
	})
}

// sessionOf returns the present session of an agent, "" while it is unknown.
func (c *core) sessionOf(agent string) string { return c.fleet.Location(agent).Session }

// promptGrace is how long a client must be back at its prompt before a
// compaction that it began, and that no record shows, counts as dismissed.
const promptGrace = 2 * time.Second

const (
	// keepFor is how long an inactive agent is kept, forgetEvery the interval
	// of looking for such agents.
	keepFor     = 7 * 24 * time.Hour
	forgetEvery = time.Hour
)

// forget drops the curves of inactive agents, and agents without activity for
// keepFor: on machines where scripts start clients, thousands of agents never
// come back. An agent that does come back begins with its first cycle.
func (c *core) forget(now time.Time) {
	for id, x := range c.agents {
		if x.curve != nil && now.Sub(x.curve.Touched) > curvesKept {
			x.curve = nil
			if *x == (agentState{}) {
				delete(c.agents, id)
			}
		}
	}
	for _, id := range c.engine.Forgotten(now.Add(-keepFor)) {
		if c.rotations.Open(id).ID != "" || c.queue.HasWaiting(id) ||
			len(c.engine.Reminders(id)) > 0 ||
			!c.fleet.Forget(id) {
			continue
		}
		c.rotations.Forget(id)
		c.engine.Forget(id)
		c.queue.Forget(id, now)
		delete(c.agents, id)
		c.setLevel(id)
	}
}

// hook applies a hook. durable reports whether the hook must be stored before
// it is answered.
func (c *core) hook(p *hook.Payload, now time.Time) (agent string, durable bool) {
	c.hooks.Count(p.Event)
	n, agent := c.fleet.Hook(p, transcript.InstantOf(now))
	c.applyOrDefer(n, now)
	if c.caughtUp {
		c.act(c.engine.SendUnsent(agent), now)
	}
	durable = p.Event == hook.PreCompact || p.Event == hook.SessionStart ||
		p.Event == hook.PostCompact
	if agent == "" {
		return "", durable
	}
	if x := c.agents[agent]; x != nil {
		x.typing.called = false
	}
	switch {
	case p.Event == hook.PreCompact && !c.fleet.BetweenTurns(agent):
		c.compacting(agent, p.Trigger)
	case p.Event == hook.SessionStart && (p.Source == "clear" || p.Source == "startup"):
		at := p.SM.At // when the hook began to run
		if at.IsZero() || at.After(now) {
			at = now
		}
		c.rotate(rotation.Started{
			Agent:   agent,
			Session: p.SessionID,
			Cleared: p.Source == "clear",
			At:      at,
		})
	case p.Event == hook.SessionEnd && p.Reason != "clear" && p.Reason != "resume" &&
		agent == p.SessionID:
		// The reports to others describe the agent as running. Notices to the
		// agent itself wait for its next client.
		c.act([]alerts.Action{alerts.Withdraw{Keys: c.engine.OpenReports(agent)}}, now)
	}
	return agent, durable
}

// applyOrDefer applies the update of a signal, or defers it until catch-up
// ends.
func (c *core) applyOrDefer(n fleet.Update, now time.Time) {
	c.signaled = true
	if c.caughtUp {
		c.apply(n, now)
	} else {
		c.deferred = append(c.deferred, n)
	}
}

// configure applies settings to the parts that keep a copy. With an error
// nothing has changed.
func (c *core) configure(s *Settings) error {
	if err := c.engine.Configure(s.Alerts); err != nil {
		return err
	}
	c.queue.Configure(s.Queue)
	c.rotations.Configure(s.Handoff.Rotations)
	c.fleet.Configure(s.Windows, s.Prices, s.Alerts.Thresholds)
	c.settings = s
	c.edits.Add(1)
	if c.caughtUp { // apply them to the known agents
		now := time.Now()
		c.clock(now)
		c.tick(now)
		c.setLevels()
	}
	return nil
}

// take collects the changes since the last batch; ok is false if there are
// none.
func (c *core) take() (b *batch, ok bool) {
	if c.dryRun {
		c.effects = nil
	}
	if len(c.notices) > 0 {
		c.effect(c.app.notifyOperator(c.notices))
		c.notices = nil
	}
	b = &batch{effects: c.effects, waiting: c.waiting}
	c.effects = nil
	c.waiting = nil
	c.signaled = false
	any := b.Take(c.fleet, c.engine, c.queue, c.rotations, &c.hooks, c.app.roots)
	if len(b.Values) > 0 { // the page shows messages, handoffs and reminders, too
		c.edits.Add(1)
	}
	return b, any || len(b.effects)+len(b.waiting) > 0
}
