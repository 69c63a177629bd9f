package rotation

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"sm/alerts"
)

// The errors of Machine.
var (
	ErrUnknown = errors.New("no such handoff; sm handoffs lists them")
	ErrBusy    = errors.New("a handoff of this agent is under way; wait for it to end")
	ErrEnded   = errors.New("this handoff has ended already; sm handoffs shows how")
	ErrBreaker = errors.New("this agent has handed over too often in a short time; work on, and call again later (handoff.breaker_count)")
	ErrFutile  = errors.New("this context stood above the warning from its start, so another handoff would not help; make the document shorter, or what is loaded at the start")
)

// Delta is what has changed since the last Take.
type Delta struct {
	Rotations []Rotation    // new or changed, by id
	Gone      []ID          // forgotten
	Agents    []AgentRecord // new or changed, by agent
	Left      []alerts.AgentID
	Counters  Counters
}

// Take returns what is to be stored now; ok is false if that is nothing. It is not told
// again.
func (m *Machine) Take() (d Delta, ok bool) {
	for _, id := range slices.Sorted(maps.Keys(m.changed)) {
		if r := m.all[id]; r != nil {
			d.Rotations = append(d.Rotations, *r)
		} else {
			d.Gone = append(d.Gone, id)
		}
	}
	for _, agent := range slices.Sorted(maps.Keys(m.agentsChanged)) {
		if s := m.agents[agent]; s != nil {
			d.Agents = append(d.Agents, s.clone())
		} else {
			d.Left = append(d.Left, agent)
		}
	}
	ok = len(m.changed)+len(m.agentsChanged) > 0 || m.counted
	d.Counters = m.counters
	clear(m.changed)
	clear(m.agentsChanged)
	m.counted = false
	return d, ok
}

func (s *AgentRecord) clone() AgentRecord {
	c := *s
	c.Executed = slices.Clone(s.Executed)
	return c
}

// Restore goes on from what was stored, in place of all that is known. What was
// under way when the observer ended goes on as far as that is safe: a document is looked
// at again, a restart asked for again, but what may have been typed is not typed again: its
// proof may come for a moment more.
func (m *Machine) Restore(rotations []Rotation, agents []AgentRecord, c Counters, now time.Time) {
	*m = *New(m.options)
	m.counters, m.since = c, now
	for _, s := range agents {
		s = s.clone()
		m.agents[s.Agent] = &s
	}
	for _, r := range rotations {
		m.all[r.ID] = &r
		if r.State.Ended() {
			continue
		}
		m.open[r.Agent] = &r
		if r.State == Reserved {
			m.move(&r, Scheduled, r.Changed)
		}
	}
}

// Rename moves what is known of an agent to the agent that it has turned out to be, and
// says what follows. Where both have a rotation that has not ended, the one that has come
// to the context goes on, else the newer one.
func (m *Machine) Rename(from, to alerts.AgentID, now time.Time) []Effect {
	m.out = nil
	for _, r := range m.all {
		if r.Agent == from {
			r.Agent = to
			m.touch(r)
		}
	}
	if r := m.open[from]; r != nil {
		other := m.open[to]
		delete(m.open, from)
		m.open[to] = r
		if other != nil {
			m.settle(r, other, now)
		}
	}
	m.renameAgent(from, to)
	return m.out
}

// settle ends one of two rotations of the same agent.
func (m *Machine) settle(a, b *Rotation, now time.Time) {
	keep, drop := a, b
	switch {
	case a.State.Touched() == b.State.Touched() && b.Made.After(a.Made), b.State.Touched() && !a.State.Touched():
		keep, drop = b, a
	}
	if drop.State.Touched() {
		m.fail(drop, ReasonReplaced, now)
	} else {
		m.end(drop, Cancelled, ReasonReplaced, now)
	}
	m.open[keep.Agent] = keep
	if keep.State != Scheduled {
		m.do(Hold{keep.Agent})
	}
}

func (m *Machine) renameAgent(from, to alerts.AgentID) {
	s, other := m.agents[from], m.agents[to]
	if s == nil {
		return
	}
	delete(m.agents, from)
	m.agentsChanged[from], m.agentsChanged[to] = struct{}{}, struct{}{}
	s.Agent = to
	if other != nil {
		both := slices.Concat(s.Executed, other.Executed)
		slices.SortFunc(both, time.Time.Compare)
		if other.At.After(s.At) {
			s = other
		}
		s.Executed = both
	}
	m.agents[to] = s
}

// Forget drops what is known of an agent that is no more.
func (m *Machine) Forget(agent alerts.AgentID) {
	for id, r := range m.all {
		if r.Agent == agent {
			delete(m.all, id)
			m.changed[id] = struct{}{}
		}
	}
	delete(m.open, agent)
	if m.agents[agent] != nil {
		delete(m.agents, agent)
		m.agentsChanged[agent] = struct{}{}
	}
}

// forget drops rotations that ended long ago, and of an agent with many the oldest.
func (m *Machine) forget(now time.Time) {
	of := map[alerts.AgentID]int{}
	for _, r := range slices.Backward(m.All()) {
		if !r.State.Ended() {
			continue
		}
		if of[r.Agent]++; of[r.Agent] > maxKept || now.Sub(r.Changed) > keptFor {
			delete(m.all, r.ID)
			m.changed[r.ID] = struct{}{}
		}
	}
}

// All lists the rotations that are known, the oldest first.
func (m *Machine) All() []Rotation {
	list := make([]Rotation, 0, len(m.all))
	for _, r := range m.all {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b Rotation) int { return cmp.Or(a.Made.Compare(b.Made), cmp.Compare(a.ID, b.ID)) })
	return list
}

// Find returns one rotation.
func (m *Machine) Find(id ID) (r Rotation, ok bool) {
	if p := m.all[id]; p != nil {
		return *p, true
	}
	return Rotation{}, false
}

// Open returns the rotation of an agent that has not ended.
func (m *Machine) Open(agent alerts.AgentID) (r Rotation, ok bool) {
	if p := m.open[agent]; p != nil {
		return *p, true
	}
	return Rotation{}, false
}

// Opens lists the agents that have one, in order.
func (m *Machine) Opens() []alerts.AgentID { return slices.Sorted(maps.Keys(m.open)) }

// Agent returns what is kept of an agent.
func (m *Machine) Agent(agent alerts.AgentID) (s AgentRecord, ok bool) {
	if p := m.agents[agent]; p != nil {
		return p.clone(), true
	}
	return AgentRecord{}, false
}

// Counters returns what has been counted so far.
func (m *Machine) Counters() Counters { return m.counters }
