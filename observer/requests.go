package observer

import (
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
func (h *handoffs) request(id string, in api.NewHandoff, line callers, now time.Time) (x rotation.Rotation, err error) {
	agent, err := h.fleet.Agent(id, false)
	if err != nil {
		return x, err
	}
	s, _ := h.fleet.Location(agent)
	asks, err := h.fleet.Agent(in.Requester, false)
	caller, known := h.fleet.Caller(line.list)
	switch {
	case err != nil || asks != agent, known && caller != agent, !known && line.ok && s.At.PID != 0:
		err = respond.ErrNotSelf
	case s.Provider == codexApp:
		err = respond.ErrCodexApp
	case h.dryRun:
		err = respond.ErrDryRun
	case s.Daemon && !h.agents.look(agent).run.restarts(now):
		err = respond.ErrDaemon
	case (s.Heard || s.Open) && s.At.Pane == "" && !h.agents.look(agent).run.restarts(now):
		err = respond.ErrNoWay
	}
	if err != nil {
		h.rotations.Refuse()
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

func (h *handoffs) schedule(r rotation.Rotation, now time.Time) (rotation.Rotation, error) {
	r, effects, err := h.rotations.Schedule(r, now)
	h.perform(effects, now)
	return r, err
}

// rotateByItself schedules the handoff of an agent that is about to compact, where that
// is asked for and its client can be restarted.
func (h *handoffs) rotateByItself(agent alerts.AgentID, now time.Time) {
	if !h.settings.Handoff.AutoRotate || h.dryRun || !h.agents.look(agent).run.restarts(now) {
		return
	}
	s, ok := h.fleet.Location(agent)
	if _, open := h.rotations.Open(agent); open || !ok || s.Path == "" {
		return
	}
	x, err := h.schedule(rotation.Rotation{
		ID:      rotation.NewID(),
		Agent:   agent,
		Session: s.Session,
		CWD:     s.Project,
	}, now)
	if err != nil {
		h.log.Warn("an automatic handoff was not scheduled", "agent", agent, "err", err)
		return
	}
	h.log.Info("handoff scheduled", "agent", agent, "id", x.ID, "auto", true)
}

// order gives a run its order, and wakes the poll that waits for it.
func (h *handoffs) order(r rotation.Rotation) {
	x := h.run(r.Agent)
	x.order = api.Instruction{Rotation: string(r.ID), Action: api.ActionRestart, Prompt: r.Prompt}
	close(x.news)
	x.news = make(chan struct{})
}

func (h *handoffs) run(agent alerts.AgentID) *run {
	x := h.agents.of(agent)
	if x.run == nil {
		x.run = &run{news: make(chan struct{})}
	}
	return x.run
}

// issueEffect gives a run its order once that is stored.
type issueEffect struct{ rotation rotation.Rotation }

// polled is what a poll has found: an order, or the channel on which one will come.
type polled struct {
	order  api.Instruction
	news   <-chan struct{}
	number int
}

// polled records a poll and returns the instruction for its run.
func (h *handoffs) polled(id string, asked api.Run, first bool, now time.Time) (p polled, err error) {
	agent, err := h.fleet.Agent(id, true)
	if err != nil {
		return p, err
	}
	x := h.run(agent)
	x.seen, x.last, x.can, x.polls = now, now, asked.CanRestart && asked.RestartsLeft > 0, x.polls+1
	open, ok := h.rotations.Open(agent)
	if first && ok &&
		string(open.ID) == asked.Handled { // it may be the answer of an earlier one, or of another agent's
		in := rotation.Answered{ID: open.ID, At: now}
		if asked.Outcome != api.OutcomeRestarted {
			in.Reason, in.Detail, in.Untouched = runReason(asked.Outcome), oneLine(asked.Reason), asked.Outcome != api.OutcomeFailed
		}
		h.step(in, now)
		if in.Untouched {
			h.delivery.notCarried(agent, now)
		}
		open, ok = h.rotations.Open(agent)
	}
	if asked.Handled != "" && x.order.Rotation == asked.Handled {
		x.order = api.Instruction{}
	}
	if ok && string(open.ID) == x.order.Rotation && open.State == rotation.Clearing &&
		asked.Restarting != x.order.Rotation {
		s, _ := h.fleet.Location(agent)
		switch _, idle := h.delivery.idle(agent, now); {
		case idle && s.Session == open.Left:
			p.order = x.order
		case h.fleet.Gone(agent): // an older run between two clients does not say for which order
		default: // it works on: this run has not carried the order out, or else it would say so
			x.order = api.Instruction{}
			h.step(rotation.Typed{ID: open.ID, Reason: rotation.ReasonBusy, At: now}, now)
			h.delivery.notCarried(agent, now)
		}
	}
	p.news = x.news
	p.number = x.polls
	return p, nil
}

// restarting reports whether a client is being restarted or has not shown its
// prompt yet. Until then no transcript shows what it lacks.
func (h *handoffs) restarting(agent alerts.AgentID) bool {
	r, open := h.rotations.Open(agent)
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
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) }), " ")
	return strings.ToValidUTF8(s[:min(len(s), maxLine)], "")
}
