package observer

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"sm/alerts"
	"sm/handoff/rotation"
	"sm/observer/api"
	"sm/observer/fleet"
)

// codexApp is the provider of Codex agents without a terminal.
const codexApp = "codex-app"

// requestHandoff checks that an agent may be handed over, except for the
// document. line has the requesting process and its ancestors, nil if they are
// unknown.
func (c *core) requestHandoff(
	id string,
	in api.NewHandoff,
	line []fleet.Process,
) (x rotation.Rotation, err error) {
	agent, err := c.fleet.Agent(id, true)
	if err != nil {
		return x, err
	}
	s := c.fleet.Location(agent)
	restarts := c.agents.look(agent).run.restarts(time.Now())
	asks, _ := c.fleet.Agent(in.Requester, true)
	caller := c.fleet.Caller(line)
	conflict := ""
	switch {
	case asks != agent,
		caller != agent && (caller != "" || line != nil && s.At.PID != 0):
		return x, refuse(
			http.StatusForbidden,
			"an agent hands over for itself alone; call sm handoff from within the session that it is about",
		)
	case s.Provider == codexApp:
		conflict = "codex-app has no terminal to clear; hand over by hand"
	case c.dryRun:
		conflict = "the observer runs with --dry-run, which touches no agent; start it without"
	case restarts:
	case s.Daemon:
		conflict = "this thread is open in Codex's daemon, and its terminal is unknown; start the client with codex --no-daemon"
	case (s.Reported || s.Open) && s.At.Pane == "":
		conflict = "this client runs neither in tmux nor under sm run, so its context cannot be cleared; start it as sm run -- claude"
	}
	if conflict != "" {
		return x, refuse(http.StatusConflict, conflict)
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

func (c *core) scheduleHandoff(r rotation.Rotation) (rotation.Rotation, error) {
	r, effects, err := c.rotations.Schedule(r, time.Now())
	c.perform(effects)
	if err == nil {
		c.log.Info(
			"handoff scheduled",
			"agent", r.Agent,
			"id", r.ID,
			"path", r.Path,
			"auto", r.Auto(),
		)
	}
	return r, err
}

// rotateByItself schedules the handoff of an agent with a critical context, once
// in a cycle, if the settings demand it. A client that was started with such a
// context keeps it for its first turn.
func (c *core) rotateByItself(agent string, x *agentState) {
	v := c.engine.Agent(agent)
	s := c.fleet.Location(agent)
	if !c.settings.Handoff.AutoRotate || !v.Enabled || v.Level != alerts.Critical ||
		x.rotated == v.Cycle || s.Path == "" || !s.Replied.After(x.run.since) ||
		c.rotations.Open(agent).ID != "" {
		return
	}
	x.rotated = v.Cycle
	if slices.ContainsFunc(c.rotations.All(), func(r rotation.Rotation) bool {
		return r.Agent == agent && r.Auto() && !r.Made.Before(v.Opened)
	}) {
		return // this cycle had one before the observer started
	}
	if _, err := c.scheduleHandoff(rotation.Rotation{
		ID:      rotation.NewID(),
		Agent:   agent,
		Session: s.Session,
		CWD:     s.Project,
	}); err != nil {
		c.log.Warn("an automatic handoff was not scheduled", "agent", agent, "err", err)
	}
}

// order sets the instruction of a run, and wakes the poll that waits for it.
func (c *core) order(r rotation.Rotation) {
	x := c.runOf(r.Agent)
	x.order = api.Instruction{
		Rotation: r.ID,
		Action:   api.ActionRestart,
		Prompt:   r.Prompt,
	}
	close(x.changed)
	x.changed = make(chan struct{})
}

func (c *core) runOf(agent string) *run {
	x := c.agents.of(agent)
	if x.run == nil {
		x.run = &run{changed: make(chan struct{})}
	}
	return x.run
}

// polled records a poll and returns the run with its present instruction, if
// any. With first, on the first call for a poll, it also records the outcome of
// the previous instruction.
func (c *core) polled(agent string, asked api.Run, first bool) (x run) {
	now := time.Now()
	r := c.runOf(agent)
	if r.closed || !r.lately(now) {
		r.since = now
		if now.Sub(c.began) < runsWithin { // the run may be older than the observer
			r.since = c.began
		}
	}
	r.polled = now
	r.closed = false
	r.can = asked.CanRestart && asked.RestartsLeft > 0
	r.polls++
	open := c.rotations.Open(agent)
	if first && asked.Handled != "" &&
		open.ID == asked.Handled { // it may be the answer of an earlier one, or of another agent's
		in := rotation.Answered{ID: open.ID, At: now}
		if asked.Outcome != api.OutcomeRestarted {
			in.Reason = cmp.Or(map[string]string{
				api.OutcomeExhausted: rotation.ReasonExhausted,
				api.OutcomeRefused:   rotation.ReasonRefused,
			}[asked.Outcome], rotation.ReasonRestart)
			in.Detail = oneLine(asked.Reason)
			in.Untouched = asked.Outcome != api.OutcomeFailed
		}
		c.rotate(in)
		if in.Untouched {
			c.notCarried(agent)
		}
		open = c.rotations.Open(agent)
	}
	if r.order.Rotation == asked.Handled {
		r.order = api.Instruction{}
	}
	x = *r
	x.order = api.Instruction{}
	id := r.order.Rotation
	if id == "" || open.ID != id || open.State != rotation.Clearing ||
		asked.Restarting == id {
		return x
	}
	switch _, idle := c.idle(agent, now); {
	case idle && c.sessionOf(agent) == open.Left:
		x.order = r.order
	case c.fleet.Gone(agent): // an older run between two clients does not name its instruction
	default: // the agent works: the run has not restarted it, which it would report
		r.order = api.Instruction{}
		c.rotate(rotation.Typed{ID: open.ID, Reason: rotation.ReasonBusy, At: now})
		c.notCarried(agent)
	}
	return x
}

// maxLine limits a text of another process, in bytes.
const maxLine = 200

// oneLine turns a text of another process into one line for logs and messages.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.Map(printable, s)), " ")
	return strings.ToValidUTF8(s[:min(len(s), maxLine)], "")
}
