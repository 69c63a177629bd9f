package observer

import (
	"time"

	"sm/observer/api"
	"sm/observer/curve"
)

// agentState is what the loop itself keeps of one agent, besides what fleet,
// engine, queue and rotations keep. It is not stored.
type agentState struct {
	typing typingState
	// starting means that its client started in a pane, and no prompt has come since.
	starting bool
	stops    int          // answers in a row to Stop hooks
	run      *run         // its `sm run`, nil for none
	curve    *curve.Curve // nil for none
	asked    time.Time    // when the last wait began that the operator was notified of
}

// curvesKept is for how long after the last news of an agent its curve is kept.
const curvesKept = 6 * time.Hour

// agents are the states of all agents that have one.
type agents map[string]*agentState

// of finds the state of an agent, to change it.
func (as agents) of(id string) *agentState {
	x := as[id]
	if x == nil {
		x = &agentState{}
		as[id] = x
	}
	return x
}

// look is the state of an agent as it is now; of one without state it is empty.
func (as agents) look(id string) agentState {
	if x := as[id]; x != nil {
		return *x
	}
	return agentState{}
}

// rename moves the state of an agent to the agent that it has turned out to be.
// What that one has already stays.
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

// curve finds the history of an agent, to add to it.
func (as agents) curve(agent string, now time.Time) *curve.Curve {
	x := as.of(agent)
	if x.curve == nil {
		x.curve = &curve.Curve{}
	}
	x.curve.Touched = now
	return x.curve
}

// typingState is the state of typing to one agent.
type typingState struct {
	busy  bool          // a text is on its way
	after time.Time     // not before, since the last try was refused
	pause time.Duration // that this refusal cost
	// called means that a call was typed, and no hook has come since.
	called bool
}

// run is one sm run, as its polls report it.
type run struct {
	seen time.Time // when it last asked; zero once it has closed its poll
	last time.Time // the same, also after that
	can  bool      // it can restart its client
	// polls counts them: the end of one must not end a later one.
	polls int
	// order is what it is to do, news wakes its polls.
	order api.Instruction
	news  chan struct{}
}

// runPresent is how long after its last poll a run counts as there: between two polls it
// may be ending a client.
const runPresent = api.RunWait + 15*time.Second

// present reports whether the run has polled recently.
func (r *run) present(now time.Time) bool { return r != nil && now.Sub(r.seen) < runPresent }

// restarts reports whether the run is present and can restart its client.
func (r *run) restarts(now time.Time) bool { return r.present(now) && r.can }

// lately reports whether the run was present a moment ago. Its poll ends when
// its client changes.
func (r *run) lately(now time.Time) bool { return r != nil && now.Sub(r.last) < runPresent }
