package observer

import (
	"context"
	"strings"
	"time"
	"unicode"

	"sm/alerts"
	"sm/handoff/rotation"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/observer/respond"
)

// callers is the process that asks with those that it descends from, the nearest first.
type callers struct {
	list []fleet.Process
	ok   bool // false where the system does not say
}

// request looks at who asks for whom, and what for. The document has not been looked at
// then.
func (c *core) requestHandoff(
	id string,
	in api.NewHandoff,
	line callers,
	now time.Time,
) (x rotation.Rotation, err error) {
	agent, err := c.fleet.Agent(id, false)
	if err != nil {
		return x, err
	}
	s, _ := c.fleet.Location(agent)
	asks, err := c.fleet.Agent(in.Requester, false)
	caller, known := c.fleet.Caller(line.list)
	switch {
	case err != nil ||
		asks != agent, known &&
		caller != agent, !known && line.ok &&
		s.At.PID != 0:
		err = respond.ErrNotSelf
	case s.Provider == codexApp:
		err = respond.ErrCodexApp
	case c.dryRun:
		err = respond.ErrDryRun
	case s.Daemon && !c.agents.look(agent).run.restarts(now):
		err = respond.ErrDaemon
	case (s.Heard || s.Open) && s.At.Pane == "" && !c.agents.look(agent).run.restarts(now):
		err = respond.ErrNoWay
	}
	if err != nil {
		c.rotations.Refuse()
		return x, err
	}
	x = rotation.Rotation{
		ID:      rotation.NewID(),
		Agent:   agent,
		Path:    in.Path,
		Session: s.Session,
		Since:   s.Started,
		CWD:     s.Project,
	}
	if s.At.PID == 0 { // the requesting client is unknown, so no client is cleared
		x.Session = ""
	}
	return x, nil
}

func (c *core) scheduleHandoff(
	r rotation.Rotation,
	now time.Time,
) (rotation.Rotation, error) {
	r, effects, err := c.rotations.Schedule(r, now)
	c.perform(effects, now)
	return r, err
}

// rotateByItself schedules the handoff of an agent that is about to compact, where that
// is asked for and its client can be restarted.
func (c *core) rotateByItself(agent alerts.AgentID, now time.Time) {
	if !c.settings.Handoff.AutoRotate || c.dryRun || !c.agents.look(agent).run.restarts(now) {
		return
	}
	s, ok := c.fleet.Location(agent)
	if _, open := c.rotations.Open(agent); open || !ok || s.Path == "" {
		return
	}
	x, err := c.scheduleHandoff(rotation.Rotation{
		ID:      rotation.NewID(),
		Agent:   agent,
		Session: s.Session,
		CWD:     s.Project,
	}, now)
	if err != nil {
		c.log.Warn("an automatic handoff was not scheduled", "agent", agent, "err", err)
		return
	}
	c.log.Info("handoff scheduled", "agent", agent, "id", x.ID, "auto", true)
}

// order gives a run its order, and wakes the poll that waits for it.
func (c *core) order(r rotation.Rotation) {
	x := c.runOf(r.Agent)
	x.order = api.Instruction{
		Rotation: string(r.ID),
		Action:   api.ActionRestart,
		Prompt:   r.Prompt,
	}
	close(x.news)
	x.news = make(chan struct{})
}

func (c *core) runOf(agent alerts.AgentID) *run {
	x := c.agents.of(agent)
	if x.run == nil {
		x.run = &run{news: make(chan struct{})}
	}
	return x.run
}

// issue gives a run its order once that is stored.
func (c *core) issue(id rotation.ID) {
	c.effect(func(context.Context) func(*core, time.Time) {
		return func(c *core, _ time.Time) {
			if r, ok := c.rotations.Find(id); ok && r.State == rotation.Clearing {
				c.order(r)
			}
		}
	})
}

// polled is what a poll has found: an order, or the channel on which one will come.
type polled struct {
	order  api.Instruction
	news   <-chan struct{}
	number int
}

// polled records a poll and returns the instruction for its run.
func (c *core) polled(
	id string,
	asked api.Run,
	first bool,
	now time.Time,
) (p polled, err error) {
	agent, err := c.fleet.Agent(id, true)
	if err != nil {
		return p, err
	}
	x := c.runOf(agent)
	x.seen, x.last, x.can, x.polls = now, now, asked.CanRestart &&
		asked.RestartsLeft > 0, x.polls+1
	open, ok := c.rotations.Open(agent)
	if first && ok &&
		string(open.ID) == asked.Handled { // it may be the answer of an earlier one, or of another agent's
		in := rotation.Answered{ID: open.ID, At: now}
		if asked.Outcome != api.OutcomeRestarted {
			in.Reason, in.Detail, in.Untouched = runReason(asked.Outcome), oneLine(asked.Reason), asked.Outcome != api.OutcomeFailed
		}
		c.rotate(in, now)
		if in.Untouched {
			c.notCarried(agent, now)
		}
		open, ok = c.rotations.Open(agent)
	}
	if asked.Handled != "" && x.order.Rotation == asked.Handled {
		x.order = api.Instruction{}
	}
	if ok && string(open.ID) == x.order.Rotation && open.State == rotation.Clearing &&
		asked.Restarting != x.order.Rotation {
		s, _ := c.fleet.Location(agent)
		switch _, idle := c.idle(agent, now); {
		case idle && s.Session == open.Left:
			p.order = x.order
		case c.fleet.Gone(agent): // an older run between two clients does not say for which order
		default: // it works on: this run has not carried the order out, or else it would say so
			x.order = api.Instruction{}
			c.rotate(rotation.Typed{ID: open.ID, Reason: rotation.ReasonBusy, At: now}, now)
			c.notCarried(agent, now)
		}
	}
	p.news = x.news
	p.number = x.polls
	return p, nil
}

// restarting reports whether a client is being restarted or has not shown its
// prompt yet. Until then no transcript shows what it lacks.
func (c *core) restarting(agent alerts.AgentID) bool {
	r, open := c.rotations.Open(agent)
	return open && r.Way == rotation.WayRestart && r.State.Touched()
}

// runReason is the word for why a run did not restart its client.
func runReason(outcome string) string {
	switch outcome {
	case api.OutcomeExhausted:
		return rotation.ReasonExhausted
	case api.OutcomeRefused:
		return rotation.ReasonRefused
	}
	return rotation.ReasonRestart
}

// maxLine bounds what another process says, in bytes.
const maxLine = 200

// oneLine is what another process says, fit for a log and a message.
func oneLine(s string) string {
	s = strings.Join(
		strings.FieldsFunc(
			s,
			func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) },
		),
		" ",
	)
	return strings.ToValidUTF8(s[:min(len(s), maxLine)], "")
}
