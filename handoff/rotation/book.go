package rotation

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// agent returns the record of an agent, which the caller will change.
func (m *Machine) agent(agent string) *AgentRecord {
	s := m.agents[agent]
	if s == nil {
		s = &AgentRecord{Agent: agent}
		m.agents[agent] = s
	}
	m.agentsChanged[agent] = true
	return s
}

// under returns the rotation if it is in the state s, else nil.
func (m *Machine) under(id string, s State) *Rotation {
	if r := m.all[id]; r != nil && r.State == s {
		return r
	}
	return nil
}

// All returns the rotations, oldest first.
func (m *Machine) All() []Rotation {
	list := make([]Rotation, 0, len(m.all))
	for _, r := range m.all {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b Rotation) int {
		return cmp.Or(a.Made.Compare(b.Made), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// Find returns a rotation, without an ID if it is unknown.
func (m *Machine) Find(id string) Rotation { return valueOf(m.all[id]) }

// Open returns the rotation of an agent that has not ended, without an ID if
// there is none. There is at most one.
func (m *Machine) Open(agent string) Rotation { return valueOf(m.open[agent]) }

// Holds reports whether messages to an agent are held back because its context
// is about to be cleared: from the agent's own call if its process is known,
// else from the beginning of the clear.
func (m *Machine) Holds(agent string) bool {
	r := m.Open(agent)
	return r.State != Scheduled || !r.Auto() && r.Session != ""
}

// Opens returns the agents that have a rotation that has not ended, sorted by
// id.
func (m *Machine) Opens() []string { return slices.Sorted(maps.Keys(m.open)) }

// Agent returns the record of an agent.
func (m *Machine) Agent(agent string) AgentRecord { return valueOf(m.agents[agent]) }

// valueOf returns the value of p, the zero value for nil.
func valueOf[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Counters returns the counts so far.
func (m *Machine) Counters() Counters { return maps.Clone(m.counters) }

// Brake returns what prevents an agent from rotating: "breaker", "futile", or
// "" if nothing does.
func (m *Machine) Brake(agent string, session string, now time.Time) string {
	switch s := m.agents[agent]; {
	case s == nil:
		return ""
	case s.Futile && s.Session == session:
		return "futile"
	case m.options.BreakerCount > 0 && len(m.recent(s, now)) >= m.options.BreakerCount:
		return "breaker"
	}
	return ""
}

// recent returns the times of executions that still count for the breaker.
func (m *Machine) recent(s *AgentRecord, now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(s.Executed), func(at time.Time) bool {
		return now.Sub(at).Abs() >= m.options.BreakerWithin
	})
}

// Refuse counts a call that was refused for another reason.
func (m *Machine) Refuse() { m.count("refused") }

func (m *Machine) move(r *Rotation, s State, at time.Time) {
	r.State = s
	r.Changed = at
	r.Finished = false
}

func (m *Machine) count(outcome string) {
	m.counters[outcome]++
	m.counted = true
}

func (m *Machine) renameAgent(from, to string) {
	old := m.agents[from]
	if old == nil {
		return
	}
	delete(m.agents, from)
	m.agentsChanged[from] = true
	s := m.agent(to)
	both := slices.Concat(old.Executed, s.Executed)
	slices.SortFunc(both, time.Time.Compare)
	if !s.At.After(old.At) {
		*s = *old
		s.Agent = to
	}
	s.Executed = both
}
