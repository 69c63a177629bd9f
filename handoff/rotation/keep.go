package rotation

import (
	"errors"
	"strings"
	"time"

	"sm/alerts"
)

// The errors of Machine.
var (
	ErrUnknown = errors.New("no such handoff; sm handoffs lists them")
	ErrBusy    = errors.New("a handoff of this agent is under way; wait for it to end")
	ErrEnded   = errors.New("this handoff has ended already; sm handoffs shows how")
	ErrBreaker = errors.New("this agent has handed over too often in a short time; " +
		"work on, and call again later (handoff.breaker_count)")
	ErrFutile = errors.New("this context was above the warning from its start, so another handoff would not help; " +
		"make the document shorter, or what is loaded at the start")
)

// Take calls put with each rotation that has changed since the last Take, and
// record with each changed record of an agent; nil means that it was forgotten.
// It reports whether there were any, or whether the counters have changed.
func (m *Machine) Take(
	put func(id string, r *Rotation),
	record func(agent string, s *AgentRecord),
) (any bool) {
	any = alerts.Changes(m.all, m.taken, put) || len(m.agentsChanged) > 0 || m.counted
	for agent := range m.agentsChanged {
		record(agent, m.agents[agent])
	}
	clear(m.agentsChanged)
	m.counted = false
	return any
}

// Restore replaces the state by the stored one. Rotations under way continue as
// far as that is safe: documents are examined again and restarts requested
// again, but a text that may have been typed is not typed again. The time limit
// for its proof begins again.
func (m *Machine) Restore(
	rotations []Rotation,
	agents []AgentRecord,
	c Counters,
	now time.Time,
) {
	*m = *New(m.options)
	for outcome, n := range c { // sm 0.1 stored outcomes as Confirmed and so on
		m.counters[strings.ToLower(outcome)] = n
	}
	m.since = now
	for _, s := range agents {
		m.agents[s.Agent] = &s
	}
	for _, r := range rotations {
		m.all[r.ID] = &r
		m.taken[r.ID] = r
		if r.State.Ended() {
			continue
		}
		m.open[r.Agent] = &r
		if r.State == Reserved {
			m.move(&r, Scheduled, r.Changed)
		}
	}
}

// Rename merges an agent into another one when both prove to be the same. If
// both have a rotation that has not ended, the rotation that has begun to clear
// a context continues, else the newer one.
func (m *Machine) Rename(from, to string, now time.Time) []Effect {
	m.out = nil
	for _, r := range m.all {
		if r.Agent == from {
			r.Agent = to
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
	keep := a
	drop := b
	if a.State.Touched() == b.State.Touched() && b.Made.After(a.Made) ||
		b.State.Touched() && !a.State.Touched() {
		keep = b
		drop = a
	}
	if drop.State.Touched() {
		m.fail(drop, ReasonReplaced, now)
	} else {
		m.end(drop, Cancelled, ReasonReplaced, now)
	}
	m.open[keep.Agent] = keep
}

// Forget drops an agent and its rotations.
func (m *Machine) Forget(agent string) {
	for id, r := range m.all {
		if r.Agent == agent {
			delete(m.all, id)
		}
	}
	delete(m.open, agent)
	if m.agents[agent] != nil {
		delete(m.agents, agent)
		m.agentsChanged[agent] = true
	}
}
