package rotation

import "time"

// Tick ends rotations that have waited too long.
func (m *Machine) Tick(now time.Time) []Effect {
	m.out = nil
	for _, agent := range m.Opens() {
		r := m.open[agent]
		age := m.age(r, now)
		began, typing := m.typing[r.ID]
		switch {
		case typing && now.Sub(began) < m.options.ClearWithin: // wait for the answer
		case r.State == Scheduled && now.Sub(r.Made) >= keptFor:
			m.fail(r, ReasonExpired, now)
		case r.State == Reserved && age >= prepareWithin:
			m.fail(r, ReasonSlow, now)
		case r.State == Clearing && r.Way == WayRestart && age >= restartWithin:
			m.fail(r, ReasonRestartGone, now)
		case r.State == Clearing && r.Way != WayRestart && age >= m.options.ClearWithin:
			m.fail(r, ReasonClear, now)
		case r.State == Cleared && age >= patience:
			m.fail(r, ReasonPromptLate, now)
		case r.State == Resuming && age >= m.options.PromptWithin+m.options.ClearWithin:
			m.fail(r, ReasonPrompt, now)
		}
	}
	return m.out
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
	r.Overheard = nil
	r.Unused = unused && (reason != ReasonGone || r.Auto()) // else the next session gets it
	m.move(r, s, at)
	delete(m.open, r.Agent)
	delete(m.typing, r.ID)
	m.count(s.String())
	m.forget(at)
	if unused {
		m.do(Withdraw{*r})
	}
}
