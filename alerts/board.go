package alerts

import (
	"cmp"
	"slices"
	"time"

	"sm/transcript"
)

// board is what all parts of an engine share.
type board struct {
	options Options
	texts   [kinds]*Template
	settle  Instant

	agents map[AgentID]*AgentState
	order  []*AgentState // by id, so that ticks are the same in every run

	counters Counters
	revised  bool    // the settings may be others than those that the agents were checked by
	now      Instant // of the newest Tick
	newest   Instant // of all stamps
	changed  map[AgentID]struct{}
	out      []Action // of the present step
}

// agent finds an agent, or begins its first cycle.
func (b *board) agent(id AgentID) *AgentState {
	if a := b.agents[id]; a != nil {
		return a
	}
	a := &AgentState{Agent: id, Cycle: 1, Muted: b.options.Disabled, Trigger: transcript.Unknown, Made: transcript.Unknown}
	b.agents[id] = a
	i, _ := slices.BinarySearchFunc(b.order, id, byID)
	b.order = slices.Insert(b.order, i, a)
	return a
}

func byID(a *AgentState, id AgentID) int { return cmp.Compare(a.Agent, id) }

// stamp is the time of an event. One without is newer than all before: that is what
// the order in a file says of records that carry no time.
func (b *board) stamp(a *AgentState, ev *Event) Instant {
	t := cmp.Or(transcript.InstantOf(ev.At), a.Clock+1)
	// That a client runs is told by the observer's clock, between records that may be much older: one without a stamp
	// behind it follows the record before.
	if ev.Kind != EventActive {
		a.Clock = max(a.Clock, t)
	}
	b.newest = max(b.newest, t)
	return t
}

// present says that the agent's context can be taken for what it is now: its client
// runs, or has been heard of lately.
func (b *board) present(a *AgentState, t Instant) bool {
	r, known := a.current()
	return known && (a.Active || r.At+recent >= max(b.now, t))
}

// Counters returns what has been counted so far.
func (b *board) Counters() Counters { return b.counters }

// Agents returns the state of all agents, by id.
func (b *board) Agents() []*AgentState {
	all := make([]*AgentState, len(b.order))
	for i, a := range b.order {
		all[i] = a.clone()
	}
	return all
}

// IDs lists all agents.
func (b *board) IDs() []AgentID {
	ids := make([]AgentID, len(b.order))
	for i, a := range b.order {
		ids[i] = a.Agent
	}
	return ids
}

// AtWork lists the agents that were last told to be.
func (b *board) AtWork() (ids []AgentID) {
	for _, a := range b.order {
		if a.Active {
			ids = append(ids, a.Agent)
		}
	}
	return ids
}

// Open lists what was said in an agent's present cycle and not withdrawn: what its
// messages in the queue may be, should the agent be forgotten.
func (b *board) Open(id AgentID) (keys []Key) {
	a := b.agents[id]
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
func (b *board) Forgotten(since time.Time) (ids []AgentID) {
	cut := transcript.InstantOf(since)
	for _, a := range b.order {
		if a.Clock < cut && !a.Active {
			ids = append(ids, a.Agent)
		}
	}
	return ids
}
