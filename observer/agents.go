package observer

import (
	"time"

	"sm/observer/api"
	"sm/observer/curve"
)

// agentState is the loop's own state of one agent, besides the state in fleet,
// engine, queue and rotations. It is not stored.
type agentState struct {
	typing typingState
	// starting means that the agent's client started in a pane and has not sent
	// a prompt since.
	starting bool
	rotated  int          // the newest cycle with a handoff of handoff.auto_rotate
	stops    int          // answers in a row to Stop hooks
	run      *run         // the agent's `sm run`, nil for none
	curve    *curve.Curve // nil for none
	asked    time.Time    // beginning of the last wait that the operator was notified of
}

// curvesKept is how long an agent's curve is kept after its last change.
const curvesKept = 6 * time.Hour

// agents has the state of each agent that has one, by id.
type agents map[string]*agentState

// of returns the state of an agent for changing. It creates one if there is
// none.
func (as agents) of(id string) *agentState {
	x := as[id]
	if x == nil {
		x = &agentState{}
		as[id] = x
	}
	return x
}

// look returns a copy of the state of an agent, which is empty if there is
// none.
func (as agents) look(id string) agentState {
	if x := as[id]; x != nil {
		return *x
	}
	return agentState{}
}

// rename moves the state of agent from to agent to. Values that to has already
// stay.
func (as agents) rename(from, to string) {
	x := as[from]
	if x == nil {
		return
	}
	delete(as, from)
	y := as.of(to)
	if !y.typing.busy {
		y.typing = x.typing
	}
	if y.run == nil {
		y.run = x.run
	}
	if y.curve == nil {
		y.curve = x.curve
	}
	if x.asked.After(y.asked) {
		y.asked = x.asked
	}
}

// curve returns the curve of an agent for adding to it.
func (as agents) curve(agent string, now time.Time) *curve.Curve {
	x := as.of(agent)
	if x.curve == nil {
		x.curve = &curve.Curve{}
	}
	x.curve.Touched = now
	return x.curve
}

// typingState is the state of typing at one agent's prompt.
type typingState struct {
	busy  bool          // a text is being typed or queued
	after time.Time     // when to try again after a refusal
	pause time.Duration // between that refusal and after
	// called means that a call was typed and no hook has been received since.
	called bool
}

// run is the state of one `sm run`, as reported by its polls.
type run struct {
	polled time.Time // time of its last poll
	since  time.Time // its first poll; the start of an observer that may be younger
	closed bool      // the run has closed that poll
	can    bool      // able to restart its client
	// polls counts the polls, so that the end of one does not end a later one.
	polls int
	// order is the instruction for the run; changed is closed to wake its
	// polls.
	order   api.Instruction
	changed chan struct{}
}

// runPresent is how long after its last poll a run counts as present: between
// two polls it may be ending a client.
const runPresent = api.RunWait + 15*time.Second

// present reports whether the run has polled recently.
func (r *run) present(now time.Time) bool { return r.lately(now) && !r.closed }

// restarts reports whether the run is present and can restart its client.
func (r *run) restarts(now time.Time) bool { return r.present(now) && r.can }

// lately reports whether the run has polled recently, even if it has closed the
// poll since: a poll ends when the client changes.
func (r *run) lately(now time.Time) bool { return r != nil && now.Sub(r.polled) < runPresent }
