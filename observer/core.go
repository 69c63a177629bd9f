package observer

import (
	"fmt"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/fleet"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// core is the state that the loop owns. Only functions sent to the loop see it.
type core struct {
	fleet    *fleet.Fleet
	engine   *alerts.Engine
	queue    *outbox.Queue
	log      *slog.Logger
	dryRun   bool
	caughtUp bool
	early    catchUp
	// held is what signals have told before all that existed was read: the policy must
	// know the past first.
	held []fleet.Update

	hooks    hookCounts
	roots    []rootChange           // not yet stored
	stops    map[alerts.AgentID]int // answers in a row to Stop hooks
	ticked   time.Time              // when the engine was asked last, and
	next     time.Time              // when it wants to be asked
	check    time.Time              // the same of the queue
	activity time.Time              // when activity was looked at last
	buried   time.Time              // when ended processes were looked for last
	forgot   time.Time              // when old agents were forgotten last

	sanitise func(string) string
	past     histories
	edits    *atomic.Uint64 // grows with whatever the page may have to show

	terminal Terminal
	carriers map[alerts.AgentID]carrier
	typed    time.Time // when it was looked who waits at a prompt

	rotations *rotation.Machine
	began     time.Time
	rotated   time.Time // when it was looked whether they can go on
	runs      map[alerts.AgentID]*run
	registry  bool                      // what is learnt now is told by the client's registry
	settings  *Settings                 // at this event
	refused   map[string]refusedRestart // by state file

	effects []effect       // what to do once all that led to it is stored
	waiting []chan<- error // who waits until all of this is stored
}

// newCore goes on from what has been stored.
func (a *App) newCore(stored fleet.Stored, now time.Time) (*core, error) {
	o := a.settings.Load()
	c := &core{
		log: a.log, dryRun: a.o.DryRun, stops: map[alerts.AgentID]int{},
		past: histories{}, edits: &a.edits, began: now,
		terminal: a.o.Terminal, carriers: map[alerts.AgentID]carrier{}, sanitise: a.sanitise,
		rotations: rotation.New(o.Handoff.Rotations), runs: map[alerts.AgentID]*run{}, refused: map[string]refusedRestart{},
		settings: o,
	}
	kept, err := loadKept(a.store)
	if err != nil {
		return nil, err
	}
	stored.Agents = kept.agents
	c.fleet = fleet.New(fleet.Options{
		Created: stored.Created, Windows: o.Windows, Thresholds: o.Alerts.Thresholds,
		Ledger: a.ledger(), ActiveFor: activeFor, Alive: a.o.Alive, Estimate: true,
	}, stored)
	if c.engine, err = alerts.New(o.Alerts); err != nil {
		return nil, fmt.Errorf("settings of the policy: %w", err)
	}
	c.engine.Restore(kept.engine)
	c.queue = outbox.New(o.Queue)
	c.queue.Restore(kept.messages, kept.ended)
	c.hooks = kept.hooks
	var gone []string
	a.roots, a.remembered, gone = newRoots(a.o.Projects, kept.roots, a.log)
	for _, root := range gone {
		c.roots = append(c.roots, rootChange{path: root})
	}
	c.rotations.Restore(kept.rotations, kept.seats, kept.rotated, now)
	c.resume()
	c.fleet.WereAtWork(c.engine.AtWork())
	c.engine.SetClock(now) // what is due waits until the past is known
	return c, nil
}

// sanitise makes a text fit for an agent.
func (a *App) sanitise(text string) string {
	if a.o.Sanitise == nil {
		return text
	}
	return a.o.Sanitise(text)
}

// ledger is where the owners of messages stand on disk. A dry run stores nothing.
func (a *App) ledger() fleet.Ledger {
	if a.o.DryRun {
		return nil
	}
	return a.store
}

// begin lets the policy speak: all that existed has been read.
func (c *core) begin(now time.Time) {
	c.caughtUp = true
	for _, ev := range append(c.fleet.Seen(), c.fleet.Resting(now)...) {
		c.past.event(&ev, now)
		c.act(c.engine.Step(ev), now)
	}
	held := c.held
	c.held = nil
	for _, n := range held {
		c.learn(n, now)
	}
	c.levels()
	c.pass(now)
}

// clock takes note of the time before something is judged by it: a clock that has been set
// back must not make what follows look old.
func (c *core) clock(now time.Time) {
	c.fleet.Clock(now)
	c.engine.SetClock(now)
}

// learn hands to engine and queue what the fleet has found out.
func (c *core) learn(n fleet.Update, now time.Time) {
	c.edits.Add(1)
	for _, r := range n.Renamed {
		c.past.rename(r.From, r.To)
		if !c.engine.Rename(r.From, r.To) {
			c.queue.Withdraw(c.engine.Open(r.From), now)
			c.engine.Forget(r.From)
			c.queue.Forget(r.From, now)
		}
		c.queue.Rename(r.From, r.To)
		c.renameRotations(r.From, r.To, now)
		c.renameCarrier(r.From, r.To)
		c.effects = append(c.effects, levelEffect{agent: string(r.From)})
		c.level(r.To)
	}
	for _, l := range n.Observed {
		c.engine.Learn(l)
	}
	for _, h := range n.Heard { // first: what has been heard is no more withdrawn
		at := h.At.Time()
		if h.At == 0 {
			at = now
		}
		for _, m := range c.queue.Heard(h.Agent, h.Text, at) {
			if m.Notice() && m.Key.Agent == h.Agent {
				c.act(c.engine.Step(alerts.Event{Kind: alerts.EventHeard, Agent: h.Agent, At: at, Notice: m.Key.Kind, Cycle: m.Key.Cycle}), now)
			}
			c.log.Debug("message heard", "agent", m.To, "id", m.ID, "via", m.Via)
		}
		s, _ := c.fleet.Seated(h.Agent)
		c.rotate(rotation.Heard{Agent: h.Agent, Session: s.Session, Text: h.Text, At: at}, now)
		c.consume(h.Agent, h.Text)
	}
	for _, ev := range n.Events {
		if ev.Kind == alerts.EventReset {
			c.reset(&ev, now)
		}
		c.past.event(&ev, now)
		c.judge(&ev, now) // before what the policy makes of it: a full context may be one that a handoff has begun
		c.act(c.engine.Step(ev), now)
	}
}

// act does what the engine decided.
func (c *core) act(actions []alerts.Action, now time.Time) {
	for _, action := range actions {
		switch x := action.(type) {
		case alerts.Say:
			c.say(x, now)
		case alerts.Withdraw:
			c.queue.Withdraw(x.Keys, now)
		case alerts.SetLevel:
			c.effects = append(c.effects, levelOf(x))
		case alerts.Remind:
			c.remind(&x, now)
		case alerts.Skip:
			c.skip(&x, now)
		case alerts.Opened:
			c.opened(&x, now)
			c.past.opened(&x, now)
			c.log.Info("new cycle", "agent", x.Agent, "cycle", x.Cycle, "cause", x.Cause, "trigger", x.Trigger,
				"pre_tokens", x.PreTokens, "warned", x.Warned, "unconfirmed", x.Unconfirmed)
		}
	}
}

// say takes a notice to whoever is to hear it.
func (c *core) say(s alerts.Say, now time.Time) {
	c.log.Info("notice", "key", s.Key, "to", s.To.Role, "mode", s.Mode, "at", s.At, "dry_run", c.dryRun)
	if c.dryRun {
		return
	}
	c.note(&s, now)
	if s.To.Role == alerts.Operator {
		c.operator(s.Key.String(), s.Text)
		return
	}
	if s.Key.Kind == alerts.KindCritical {
		c.rotateByItself(s.To.Agent, now)
	}
	to := s.To.Agent
	if agent, err := c.fleet.Agent(string(to), true); err == nil {
		to = agent // a parent may be named by its name or session
	}
	if _, err := c.queue.Put(outbox.Message{Key: s.Key, To: to, Mode: s.Mode, Text: s.Text, Plain: s.Plain}, now); err != nil {
		c.log.Error("a notice cannot be queued", "key", s.Key, "err", err)
	}
}

// note marks a notice on the curve of whom it is about.
func (c *core) note(s *alerts.Say, now time.Time) {
	c.edits.Add(1)
	v, _ := c.engine.Agent(s.Key.Agent)
	c.past.said(s, v.Tokens, now)
}

const (
	// askEvery is how often the engine is asked at least what time has done.
	askEvery = 5 * time.Second
	// lookEvery is how often it is looked at who is at work.
	lookEvery = 10 * time.Second
	// buryEvery is how often it is looked whose process has ended without a word.
	buryEvery = 4 * time.Second
)

// pass takes note of the passing of time.
func (c *core) pass(now time.Time) {
	if !c.caughtUp {
		return
	}
	if now.Sub(c.buried) >= buryEvery || now.Before(c.buried) {
		c.buried = now
		if c.fleet.Bury(now) {
			c.edits.Add(1)
			c.activity = time.Time{}
		}
	}
	if now.Sub(c.activity) >= lookEvery || now.Before(c.activity) {
		c.activity = now
		for _, ev := range c.fleet.Activity(now) {
			c.act(c.engine.Step(ev), now)
		}
	}
	if now.Sub(c.forgot) >= forgetEvery || now.Before(c.forgot) {
		c.forget(now)
	}
	if now.Sub(c.ticked) >= askEvery || now.Before(c.ticked) || !c.next.IsZero() && !now.Before(c.next) {
		c.ask(now)
	}
	c.passRotations(now)
	c.typeToIdle(now)
	if now.Before(c.check) {
		return
	}
	read := func(agent alerts.AgentID, answered time.Time) (time.Time, bool) {
		if c.restarting(agent) {
			return time.Time{}, true
		}
		return c.fleet.ReadUntil(agent, answered, now)
	}
	// Transcripts go on without asking: at least each second while something is under way.
	if c.queue.Check(now, read).IsZero() {
		c.check = now.Add(askEvery)
	} else {
		c.check = now.Add(time.Second)
	}
}

const (
	// keepFor is how long an agent is kept of which nothing is heard, forgetEvery how
	// often that is looked at.
	keepFor     = 7 * 24 * time.Hour
	forgetEvery = time.Hour
)

// forget drops agents that have been away for long: machines where scripts start clients
// see thousands that never come back. One that does begins with its first cycle.
func (c *core) forget(now time.Time) {
	c.forgot = now
	c.past.forget(now.Add(-pastKept), pastMost)
	maps.DeleteFunc(c.refused, func(_ string, r refusedRestart) bool { return now.Sub(r.at) > keepFor })
	for _, id := range c.engine.Forgotten(now.Add(-keepFor)) {
		if _, open := c.rotations.Open(id); open || c.queue.HasWaiting(id) || len(c.engine.Reminders(id)) > 0 || !c.fleet.Forget(id) {
			continue
		}
		c.rotations.Forget(id)
		delete(c.runs, id)
		c.engine.Forget(id)
		c.queue.Forget(id, now)
		delete(c.carriers, id)
		delete(c.stops, id)
		c.effects = append(c.effects, levelEffect{agent: string(id)})
	}
}

func (c *core) ask(now time.Time) {
	c.ticked = now
	var actions []alerts.Action
	actions, c.next = c.engine.Tick(now)
	c.act(actions, now)
}

// hook takes in a hook. durable says that it must not be answered before all is stored.
func (c *core) hook(p *hook.Payload, now time.Time) (agent alerts.AgentID, durable bool) {
	c.hooks.count(p.Event)
	n, agent := c.fleet.Hook(p, transcript.InstantOf(now))
	c.tell(n, now)
	c.hookCame(agent)
	if p.Event == hook.PreCompact && agent != "" && !p.Subagent() {
		c.compacting(agent, p.Trigger)
	}
	if p.Event == hook.SessionStart && agent != "" && (p.Source == "clear" || p.Source == "startup") {
		c.rotate(rotation.Started{Agent: agent, Session: p.SessionID, Cleared: p.Source == "clear", At: stampOf(p, now)}, now)
	}
	if p.Event == hook.SessionEnd && p.Reason != "clear" && p.Reason != "resume" && string(agent) == p.SessionID {
		c.queue.Withdraw(c.engine.Open(agent), now) // nobody will sit there to hear of this context
	}
	return agent, p.Event == hook.PreCompact || p.Event == hook.SessionStart || p.Event == hook.PostCompact
}

// stampOf is when a hook began to run: now where it does not say, or is ahead.
func stampOf(p *hook.Payload, now time.Time) time.Time {
	if at := p.SM.At; !at.IsZero() && at.Before(now) {
		return at
	}
	return now
}

// answer is what a hook is told: at most one message, which has been offered then. A prompt
// that is a call is answered with the message that it names.
func (c *core) answer(agent alerts.AgentID, p *hook.Payload, now time.Time) (answer hook.Answer, offered outbox.ID) {
	if id, called := outbox.Called(p.Prompt); called && p.Event == hook.UserPromptSubmit && !c.dryRun && agent != "" && !p.Subagent() {
		return c.answerCall(agent, id, now)
	}
	if m, ok := c.offer(agent, p, now); ok {
		return hook.Answer{Event: p.Event, Context: c.sanitise(m.Line())}, m.ID
	}
	return hook.Answer{}, ""
}

// status takes in a report of the status line.
func (c *core) status(s *hook.Status, now time.Time) {
	c.hooks.count(hook.StatusLine)
	n, _ := c.fleet.Status(s, transcript.InstantOf(now))
	c.tell(n, now)
}

// tell lets the policy know what a signal has told, as soon as it knows the past.
func (c *core) tell(n fleet.Update, now time.Time) {
	if c.caughtUp {
		c.learn(n, now)
		return
	}
	if len(c.held) < heldMost {
		c.held = append(c.held, n)
	}
}

// heldMost bounds what is kept of signals while the past is read. Whatever is beyond is
// dropped: the transcripts tell it too.
const heldMost = 10_000

// stopsMost is how many answers to Stop hooks in a row make the client go on.
const stopsMost = 8

// offer finds the message that the answer to a hook carries to its agent. A subagent's
// goes nowhere, and a client that compacts would give it to the summariser.
func (c *core) offer(agent alerts.AgentID, p *hook.Payload, now time.Time) (m outbox.Message, ok bool) {
	if !c.caughtUp || c.dryRun || agent == "" || p.Subagent() || !p.Event.TakesContext() {
		return m, false
	}
	least := alerts.Important
	stopHeard := hook.StopHeard(c.fleet.ClientVersion(p.SessionID))
	switch {
	case p.Event == hook.SessionStart:
		least = alerts.Sequential
	case p.Event == hook.Stop && !stopHeard:
		return m, false
	case !stopHeard: // sequential messages cannot wait for the end of the turn
		least = alerts.Sequential
	case p.Event == hook.Stop:
		if !p.StopHookActive {
			delete(c.stops, agent)
		}
		if _, pending := c.rotations.Open(agent); pending || c.stops[agent] >= stopsMost {
			return m, false // what waits for the end of the turn would not come to it
		}
		least = alerts.Sequential
	}
	if m, ok = c.queue.Offer(agent, outbox.Hook, least, now); !ok {
		return m, false
	}
	if p.Event == hook.Stop {
		c.stops[agent]++
	}
	c.log.Info("message offered", "agent", agent, "id", m.ID, "via", m.Via, "event", p.Event, "offers", m.Offers)
	return m, true
}
