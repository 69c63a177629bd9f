package observer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/fleet"
	"sm/transcript/wording"
)

const (
	// rotateEvery is how often it is looked whether a handoff can go on.
	rotateEvery = time.Second
	// runsWithin is how long after the start of the observer every `sm run` has asked: one
	// that found none looks again each 10 s.
	runsWithin = 12 * time.Second
)

// rotate hands an input to the rotations and begins what follows. A dry run rotates nobody.
func (c *core) rotate(in rotation.Input, now time.Time) {
	if !c.dryRun {
		c.carry(c.rotations.Step(in), now)
	}
}

// carry begins effects. What changes the state alone is done at once, the rest once that
// state is stored.
func (c *core) carry(effects []rotation.Effect, now time.Time) {
	for _, e := range effects {
		switch x := e.(type) {
		case rotation.Hold:
			c.queue.Hold(x.Agent, true)
		case rotation.Release:
			c.queue.Hold(x.Agent, false)
		case rotation.Prepare:
			c.prepare(x.Rotation)
		case rotation.Clear:
			c.typeOwn(ownEffect{rotation: x.Rotation, text: x.Text})
		case rotation.Resume:
			c.typeOwn(ownEffect{rotation: x.Rotation, text: x.Rotation.Prompt, prompt: true})
		case rotation.Finish:
			c.typeOwn(ownEffect{rotation: x.Rotation, text: x.Text, prompt: x.Prompt, finish: true})
		case rotation.Restart:
			c.effects = append(c.effects, issueEffect{x.Rotation})
		case rotation.Report:
			c.report(x, now)
		case rotation.Unhelpful:
			c.unhelpful(x.Agent, now)
		case rotation.Withdraw:
			c.effects = append(c.effects, withdrawEffect{x.Rotation.Channel, x.Rotation.Document})
		case rotation.Executed:
			c.log.Info("handoff confirmed", "agent", x.Rotation.Agent, "id", x.Rotation.ID, "path", x.Rotation.Read, "session", x.Rotation.Next)
			s, _ := c.fleet.Seated(x.Rotation.Agent)
			c.effects = append(c.effects, freshenEffect{x.Rotation, s.At},
				consumeEffect{channel: x.Rotation.Channel, document: x.Rotation.Document, session: x.Rotation.Next, pid: s.At.PID})
		}
	}
}

// passRotations lets handoffs go on that wait for their agent's prompt.
func (c *core) passRotations(now time.Time) {
	if c.dryRun || now.Sub(c.rotated) < rotateEvery && !now.Before(c.rotated) {
		return
	}
	c.rotated = now
	for _, agent := range c.rotations.Opens() {
		switch place, idle := c.idle(agent, now); {
		case idle && c.awaitsRun(agent, now):
		case idle && !c.carriers[agent].busy:
			s, _ := c.fleet.Seated(agent)
			c.rotate(rotation.Idle{Agent: agent, Way: c.way(agent, place, now), Session: s.Session, At: now}, now)
		case !idle && c.fleet.Gone(agent) && !c.runs[agent].lately(now):
			c.rotate(rotation.Gone{Agent: agent, At: now}, now)
		}
	}
	c.carry(c.rotations.Tick(now), now)
}

// awaitsRun says that an agent's `sm run` may not have asked since the observer began: its
// handoff from before waits for that.
func (c *core) awaitsRun(agent alerts.AgentID, now time.Time) bool {
	r, _ := c.rotations.Open(agent)
	return r.State == rotation.Scheduled && r.Made.Before(c.began) && now.Sub(c.began) < runsWithin && !c.runs[agent].present(now)
}

// way is how an agent's context can be cleared: `sm run` restarts its own client, and any
// other is typed to.
func (c *core) way(agent alerts.AgentID, at fleet.Place, now time.Time) rotation.Way {
	s, _ := c.fleet.Seated(agent)
	switch {
	case c.runs[agent].restarts(now):
		return rotation.WayRestart
	case c.terminal == nil || at.PID == 0:
		return rotation.WayNone
	case s.Provider == codex:
		return rotation.WayNew
	}
	return rotation.WayClear
}

// The providers that are not Claude: codex calls /clear /new, and codex-app has no
// terminal.
const codex, codexApp = "codex", "codex-app"

// judge looks at the first context size of a session that a handoff has begun.
func (c *core) judge(ev *alerts.Event, now time.Time) {
	if ev.Kind != alerts.EventReading || ev.Tokens <= 0 {
		return
	}
	seat, ok := c.rotations.Agent(ev.Agent)
	if !ok || seat.Judged || seat.Session == "" || ev.At.Before(seat.At) {
		return
	}
	s, _ := c.fleet.Seated(ev.Agent)
	known, _ := c.engine.Agent(ev.Agent)
	high := c.settings.Alerts.Thresholds.Level(ev.Tokens, ev.Window, known.Threshold) >= alerts.Warn
	c.rotate(rotation.First{Agent: ev.Agent, Session: s.Session, High: high}, now)
}

// resume goes on with what was under way when the last observer ended.
func (c *core) resume() {
	for _, agent := range c.rotations.Opens() {
		r, _ := c.rotations.Open(agent)
		if r.State != rotation.Scheduled {
			c.queue.Hold(agent, true)
		}
		if r.State == rotation.Clearing && r.Way == rotation.WayRestart {
			c.tellRun(r)
		}
	}
	if !c.dryRun {
		c.effects = append(c.effects, sweepEffect{})
	}
	heard := map[alerts.AgentID]rotation.Rotation{}
	for _, r := range c.rotations.All() { // the oldest first
		if r.State == rotation.Confirmed {
			heard[r.Agent] = r
		}
	}
	for _, r := range heard { // it may not have come to that; twice is as good as once
		c.effects = append(c.effects, consumeEffect{channel: r.Channel, document: r.Document, session: r.Next})
	}
}

func (c *core) renameRotations(from, to alerts.AgentID, now time.Time) {
	c.queue.Hold(from, false)
	c.carry(c.rotations.Rename(from, to, now), now)
	if r, open := c.rotations.Open(to); open && r.State != rotation.Scheduled {
		c.queue.Hold(to, true)
	}
	if x := c.runs[from]; x != nil && c.runs[to] == nil {
		c.runs[to] = x
	}
	delete(c.runs, from)
}

// reset is a context that began anew. One that a handoff has cleared proves that.
func (c *core) reset(ev *alerts.Event, now time.Time) {
	if r, open := c.rotations.Open(ev.Agent); open && r.State.Touched() {
		ev.Cause = alerts.CauseHandoff
	}
	s, _ := c.fleet.Seated(ev.Agent)
	at := ev.At
	if c.registry { // it says when the client's status has changed, which may be before that
		at = now
	}
	c.rotate(rotation.Started{Agent: ev.Agent, Session: s.Session, At: at}, now)
}

// handoffs begin the names of what is said about handoffs.
const handoffs = "handoff/"

// tellAgent puts what a handoff has to say into the agent's queue, once under each name.
func (c *core) tellAgent(agent alerts.AgentID, name, text string, mode alerts.Mode, now time.Time) {
	if c.dryRun {
		return
	}
	_, err := c.queue.Put(outbox.Message{To: agent, Ref: handoffs + name, Mode: mode, Text: wording.Handoff + text, OwnWords: true, Unmetered: true}, now)
	if err != nil {
		c.log.Error("what became of a handoff cannot be queued", "agent", agent, "err", err)
	}
}

// report tells of a handoff that has failed: the operator, and the agent, which may have
// lost its context and not know what to read.
func (c *core) report(x rotation.Report, now time.Time) {
	r := &x.Rotation
	c.log.Warn("handoff failed", "agent", r.Agent, "id", r.ID, "reason", r.Reason, "lost", x.Lost, "path", r.Path)
	what := "It keeps its context."
	if x.Lost {
		what = "Its context may have been cleared: look at it."
	}
	why := words(r.Reason)
	if r.Detail != "" {
		why += ": " + r.Detail
	}
	c.operator("handoff/"+string(r.ID), fmt.Sprintf("The handoff of %s failed: %s. %s", c.name(r.Agent), why, what))
	switch {
	case r.Reason == rotation.ReasonGone && !x.Lost && !r.Auto(): // whoever comes next is given it
		c.effects = append(c.effects, leaveEffect{prepareEffect{rotation: *r}})
	case r.Reason == rotation.ReasonGone:
	case !x.Lost && r.Auto():
	case !x.Lost:
		c.tellAgent(r.Agent, string(r.ID)+"/failed", fmt.Sprintf(
			"The handoff with %s did not take place: %s. Your context is as it was. Call sm handoff again once that is mended.", r.Path, why),
			alerts.Sequential, now)
	default:
		c.tellAgent(r.Agent, string(r.ID)+lostName, fmt.Sprintf(
			"A handoff may have cleared your context: %s. If you do not know what you were working on, read %s and continue from there.", words(r.Reason), cmp.Or(r.Plain, r.Read)),
			alerts.Urgent, now)
	}
}

// opened takes back what was said of the context that is over, and lets one that was
// compacted hand over again.
func (c *core) opened(x *alerts.Opened, now time.Time) {
	if x.Cause == alerts.CauseCompaction {
		c.rotate(rotation.Compacted{Agent: x.Agent}, now)
	}
	for _, m := range c.queue.Of(x.Agent) {
		if (m.State == outbox.Waiting || m.Calling) && strings.HasPrefix(m.Ref, handoffs) && !strings.HasSuffix(m.Ref, lostName) {
			if _, err := c.queue.Cancel(x.Agent, m.ID, now); err != nil {
				c.log.Debug("what was said of a handoff cannot be taken back", "id", m.ID, "err", err)
			}
		}
	}
}

// lostName ends the name of what is said of a context that may have been cleared.
const lostName = "/lost"

// unhelpful tells an agent whose new context is full from the start.
func (c *core) unhelpful(s rotation.AgentRecord, now time.Time) {
	c.log.Warn("a handoff did not help", "agent", s.Agent, "session", s.Session)
	c.operator("handoff/"+s.Session+"/futile", fmt.Sprintf("The context of %s stands above the warning right after a handoff.", c.name(s.Agent)))
	c.tellAgent(s.Agent, s.Session+"/futile",
		"This new context stands above the warning from its start, so another handoff would not help. Shorten the document or what is loaded at the start.",
		alerts.Sequential, now)
}

// words is a reason as a text tells it.
func words(reason string) string { return strings.ReplaceAll(reason, "_", " ") }

// name is what an agent is called in a text.
func (c *core) name(agent alerts.AgentID) string {
	if s, ok := c.fleet.Seated(agent); ok && s.Name != "" {
		return s.Name
	}
	return string(agent)
}

// operator tells the operator something that is no notice of the engine's.
func (c *core) operator(key, text string) {
	if !c.dryRun {
		c.effects = append(c.effects, operatorEffect{key, text})
	}
}

// typeOwn types what sm says to the client itself.
func (c *core) typeOwn(e ownEffect) {
	agent := e.rotation.Agent
	if place, idle := c.idle(agent, time.Now()); idle { // or else the effect finds out, and has nothing typed
		e.place = place
	}
	k := c.carriers[agent]
	k.busy = true
	c.carriers[agent] = k
	e.text = c.sanitise(e.text)
	c.effects = append(c.effects, e)
}

// ownEffect types /clear or the resume prompt, or presses Enter where that stands already,
// and tells the loop what became of it.
type ownEffect struct {
	rotation rotation.Rotation
	text     string
	prompt   bool
	finish   bool
	place    fleet.Place
}

func (e ownEffect) do(p *performer) {
	p.typing.Go(func() { p.app.typeOwn(p.ctx, e) })
}

func (a *App) typeOwn(ctx context.Context, e ownEffect) {
	typed, err := false, errBusy
	act := a.o.Terminal.Type
	if e.finish {
		act = a.o.Terminal.Finish
	}
	if e.place.PID != 0 {
		typed, err = act(ctx, e.place, e.text, func(ctx context.Context) error {
			still := false
			if err := a.do(ctx, func(c *core) {
				place, idle := c.idle(e.rotation.Agent, time.Now())
				r, known := c.rotations.Find(e.rotation.ID)
				s, _ := c.fleet.Seated(e.rotation.Agent)
				still = idle && place == e.place && known && r.State == e.rotation.State && (e.prompt || s.Session == r.Left)
			}); err != nil {
				return err
			}
			if !still {
				return errBusy
			}
			return nil
		})
	}
	now := time.Now()
	// With ctx the loop has ended: the next observer waits for the proof.
	_ = a.update(ctx, func(c *core) error {
		agent := e.rotation.Agent
		if r, known := c.rotations.Find(e.rotation.ID); known {
			agent = r.Agent // it may have got another id since
		}
		delete(c.carriers, agent)
		level := c.log.Info
		switch {
		case e.finish && !typed:
			level = c.log.Debug
		case err != nil:
			level = c.log.Warn
		}
		level("handoff typed", "agent", e.rotation.Agent, "id", e.rotation.ID, "state", e.rotation.State, "finish", e.finish, "typed", typed, "err", err)
		c.rotate(rotation.Typed{ID: e.rotation.ID, Prompt: e.prompt, Finish: e.finish, Pressed: typed, Reason: reasonOf(err), At: now}, now)
		return nil
	})
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
