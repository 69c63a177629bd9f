package rotation

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"sm/alerts"
)

// book has the rotations and the record of each agent, and says whether another rotation is allowed. It notes what is to be
// stored.
type book struct {
	options  Options
	all      map[ID]*Rotation
	open     map[alerts.AgentID]*Rotation // not ended; at most one for each agent
	agents   map[alerts.AgentID]*AgentRecord
	counters Counters

	changed       map[ID]struct{}
	agentsChanged map[alerts.AgentID]struct{} // whose record has changed
	counted       bool
}

// agent finds what is kept of an agent, to change it.
func (b *book) agent(agent alerts.AgentID) *AgentRecord {
	s := b.agents[agent]
	if s == nil {
		s = &AgentRecord{Agent: agent}
		b.agents[agent] = s
	}
	b.agentsChanged[agent] = struct{}{}
	return s
}

// under finds a rotation in a state, nil where it is not or no longer there.
func (b *book) under(id ID, s State) *Rotation {
	if r := b.all[id]; r != nil && r.State == s {
		return r
	}
	return nil
}

// All lists the rotations that are known, the oldest first.
func (b *book) All() []Rotation {
	list := make([]Rotation, 0, len(b.all))
	for _, r := range b.all {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b Rotation) int { return cmp.Or(a.Made.Compare(b.Made), cmp.Compare(a.ID, b.ID)) })
	return list
}

// Find returns one rotation.
func (b *book) Find(id ID) (r Rotation, ok bool) {
	if p := b.all[id]; p != nil {
		return *p, true
	}
	return Rotation{}, false
}

// Open returns the rotation of an agent that has not ended.
func (b *book) Open(agent alerts.AgentID) (r Rotation, ok bool) {
	if p := b.open[agent]; p != nil {
		return *p, true
	}
	return Rotation{}, false
}

// Opens lists the agents that have one, in order.
func (b *book) Opens() []alerts.AgentID { return slices.Sorted(maps.Keys(b.open)) }

// Agent returns what is kept of an agent.
func (b *book) Agent(agent alerts.AgentID) (s AgentRecord, ok bool) {
	if p := b.agents[agent]; p != nil {
		return p.clone(), true
	}
	return AgentRecord{}, false
}

// Counters returns what has been counted so far.
func (b *book) Counters() Counters { return b.counters }

// Brake says what keeps an agent from rotating: "breaker", "futile", or "" for nothing.
func (b *book) Brake(agent alerts.AgentID, session string, now time.Time) string {
	switch s := b.agents[agent]; {
	case s == nil:
		return ""
	case s.Futile && s.Session == session:
		return "futile"
	case b.options.BreakerCount > 0 && len(b.recent(s, now)) >= b.options.BreakerCount:
		return "breaker"
	}
	return ""
}

// recent are the executions that the breaker may still count.
func (b *book) recent(s *AgentRecord, now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(s.Executed), func(at time.Time) bool {
		age := now.Sub(at)
		return age >= b.options.BreakerWithin || age <= -b.options.BreakerWithin
	})
}

// Refuse counts a call that was turned away for another reason.
func (b *book) Refuse() { b.count(&b.counters.Refused) }

func (b *book) move(r *Rotation, s State, at time.Time) {
	r.State, r.Changed, r.Finished = s, at, false
	b.touch(r)
}

func (b *book) touch(r *Rotation) { b.changed[r.ID] = struct{}{} }

func (b *book) count(n *uint64) {
	*n++
	b.counted = true
}

// forget drops rotations that ended long ago, and of an agent with many the oldest.
func (b *book) forget(now time.Time) {
	of := map[alerts.AgentID]int{}
	for _, r := range slices.Backward(b.All()) {
		if !r.State.Ended() {
			continue
		}
		if of[r.Agent]++; of[r.Agent] > maxKept || now.Sub(r.Changed) > keptFor {
			delete(b.all, r.ID)
			b.changed[r.ID] = struct{}{}
		}
	}
}

func (b *book) renameAgent(from, to alerts.AgentID) {
	s, other := b.agents[from], b.agents[to]
	if s == nil {
		return
	}
	delete(b.agents, from)
	b.agentsChanged[from], b.agentsChanged[to] = struct{}{}, struct{}{}
	s.Agent = to
	if other != nil {
		both := slices.Concat(s.Executed, other.Executed)
		slices.SortFunc(both, time.Time.Compare)
		if other.At.After(s.At) {
			s = other
		}
		s.Executed = both
	}
	b.agents[to] = s
}
