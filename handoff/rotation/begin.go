package rotation

import (
	"time"

	"sm/alerts"
)

// Schedule takes a rotation that is to be carried out at the end of the agent's turn. An
// earlier one of the agent that has not begun gives way. The errors are [ErrBusy],
// [ErrBreaker] and [ErrFutile], each counted.
func (m *Machine) Schedule(r Rotation, now time.Time) (Rotation, []Effect, error) {
	m.out = nil
	if err := m.admit(&r, now); err != nil {
		return Rotation{}, nil, err
	}
	if earlier := m.open[r.Agent]; earlier != nil {
		m.end(earlier, Cancelled, ReasonReplaced, now)
	}
	r.State, r.Reason, r.Made, r.Changed = Scheduled, "", now, now
	m.all[r.ID], m.open[r.Agent] = &r, &r
	m.touch(&r)
	return r, m.out, nil
}

func (m *Machine) admit(r *Rotation, now time.Time) error {
	earlier, s := m.open[r.Agent], m.agents[r.Agent]
	switch {
	case earlier != nil && earlier.State != Scheduled:
		m.count(&m.counters.Refused)
		return ErrBusy
	case s != nil && s.Futile && s.Session == r.Session:
		m.count(&m.counters.Futile)
		return ErrFutile
	case m.broken(s, now):
		m.count(&m.counters.Breaker)
		return ErrBreaker
	}
	return nil
}

// Refuse counts a call that was turned away for another reason.
func (m *Machine) Refuse() { m.count(&m.counters.Refused) }

func (m *Machine) broken(s *AgentRecord, now time.Time) bool {
	if s == nil || m.options.BreakerCount <= 0 {
		return false
	}
	recent := 0
	for _, at := range s.Executed {
		if age := now.Sub(at); age < m.options.BreakerWithin && age > -m.options.BreakerWithin {
			recent++
		}
	}
	return recent >= m.options.BreakerCount
}

// Brake says what keeps an agent from rotating: "breaker", "futile", or "" for nothing.
func (m *Machine) Brake(agent alerts.AgentID, session string, now time.Time) string {
	switch s := m.agents[agent]; {
	case s == nil:
		return ""
	case s.Futile && s.Session == session:
		return "futile"
	case m.broken(s, now):
		return "breaker"
	}
	return ""
}

// Cancel takes a rotation back that has not begun; one that was taken back already stays
// so. The error is [ErrUnknown], [ErrBusy] for one that is under way, or [ErrEnded].
func (m *Machine) Cancel(id ID, now time.Time) (Rotation, []Effect, error) {
	m.out = nil
	r := m.all[id]
	switch {
	case r == nil:
		return Rotation{}, nil, ErrUnknown
	case r.State == Cancelled:
		return *r, nil, nil
	case r.State.Ended():
		return *r, nil, ErrEnded
	case r.State != Scheduled:
		return *r, nil, ErrBusy
	}
	m.end(r, Cancelled, "", now)
	return *r, m.out, nil
}
