package rotation

import (
	"maps"
	"time"
)

// Tick ends rotations that have waited too long.
func (m *Machine) Tick(now time.Time) []Effect {
	m.out = nil
	for _, agent := range m.Opens() {
		r := m.open[agent]
		began, typing := m.typing[r.ID]
		since := m.age(r, now)
		if r.State == Scheduled {
			since = now.Sub(r.Made)
		}
		within, reason := m.limit(r)
		waits := typing && now.Sub(began) < m.options.ClearWithin // for the answer to Type
		if since >= within && !waits {
			m.fail(r, reason, now)
		}
	}
	return m.out
}

// limit returns how long a rotation may be in its state, and the reason of its
// failure after that.
func (m *Machine) limit(r *Rotation) (within time.Duration, reason string) {
	switch {
	case r.State == Scheduled:
		return keptFor, ReasonExpired
	case r.State == Reserved:
		return prepareWithin, ReasonSlow
	case r.State == Clearing && r.Way == WayRestart:
		return restartWithin, ReasonRestartGone
	case r.State == Clearing:
		return m.options.ClearWithin, ReasonClear
	case r.State == Cleared:
		return patience, ReasonPromptLate
	}
	return m.options.PromptWithin + m.options.ClearWithin, ReasonPrompt
}

// fail ends a rotation and reports it.
func (m *Machine) fail(r *Rotation, reason string, at time.Time) {
	lost := r.State.Touched()
	m.end(r, Failed, reason, at)
	m.do(Report{*r, lost})
}

func (m *Machine) end(r *Rotation, s State, reason string, at time.Time) {
	unused := !r.State.Touched() && r.Document != ""
	r.Reason = reason
	r.Unassigned = [maxUnassigned]Prompted{}
	r.Unused = unused && (reason != ReasonGone || r.Auto()) // otherwise the next session gets it
	m.move(r, s, at)
	delete(m.open, r.Agent)
	delete(m.typing, r.ID)
	m.count(s.String())
	maps.DeleteFunc(m.all, func(_ string, r *Rotation) bool {
		return r.State.Ended() && at.Sub(r.Changed) > keptFor
	})
	if unused {
		m.do(Withdraw{*r})
	}
}
