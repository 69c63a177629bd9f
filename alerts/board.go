package alerts

import (
	"cmp"
	"slices"
	"time"

	"sm/transcript"
)

// agent finds an agent, or begins its first cycle.
func (e *Engine) agent(id AgentID) *AgentState {
	if a := e.agents[id]; a != nil {
		return a
	}
	a := &AgentState{Agent: id, Cycle: 1, Muted: e.options.Disabled, Trigger: transcript.Unknown, Made: transcript.Unknown}
	e.agents[id] = a
	i, _ := slices.BinarySearchFunc(e.order, id, byID)
	e.order = slices.Insert(e.order, i, a)
	return a
}

func byID(a *AgentState, id AgentID) int { return cmp.Compare(a.Agent, id) }

// stamp is the time of an event. One without is newer than all before: that is what
// the order in a file says of records that carry no time.
func (e *Engine) stamp(a *AgentState, ev *Event) Instant {
	t := cmp.Or(transcript.InstantOf(ev.At), a.Clock+1)
	// That a client runs is told by the observer's clock, between records that may be much older: one without a stamp
	// behind it follows the record before.
	if ev.Kind != EventActive {
		a.Clock = max(a.Clock, t)
	}
	e.newest = max(e.newest, t)
	return t
}

// present says that the agent's context can be taken for what it is now: its client
// runs, or has been heard of lately.
func (e *Engine) present(a *AgentState, t Instant) bool {
	r, known := a.current()
	return known && (a.Active || r.At+recent >= max(e.now, t))
}

// Counters returns what has been counted so far.
func (e *Engine) Counters() Counters { return e.counters }

// Agents returns the state of all agents, by id.
func (e *Engine) Agents() []*AgentState {
	all := make([]*AgentState, len(e.order))
	for i, a := range e.order {
		all[i] = a.clone()
	}
	return all
}

// IDs lists all agents.
func (e *Engine) IDs() []AgentID {
	ids := make([]AgentID, len(e.order))
	for i, a := range e.order {
		ids[i] = a.Agent
	}
	return ids
}

// AtWork lists the agents that were last told to be.
func (e *Engine) AtWork() (ids []AgentID) {
	for _, a := range e.order {
		if a.Active {
			ids = append(ids, a.Agent)
		}
	}
	return ids
}

// Open lists what was said in an agent's present cycle and not withdrawn: what its
// messages in the queue may be, should the agent be forgotten.
func (e *Engine) Open(id AgentID) (keys []Key) {
	a := e.agents[id]
	if a == nil {
		return nil
	}
	for _, s := range a.Said {
		if s.Open {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// Forgotten lists the agents that have sent nothing since a time, and that are
// not at work.
func (e *Engine) Forgotten(since time.Time) (ids []AgentID) {
	cut := transcript.InstantOf(since)
	for _, a := range e.order {
		if a.Clock < cut && !a.Active {
			ids = append(ids, a.Agent)
		}
	}
	return ids
}
