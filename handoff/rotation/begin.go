package rotation

import "time"

// Schedule adds a rotation for the end of the agent's turn. It replaces an
// earlier rotation of the agent that has not begun. The errors are [ErrBusy],
// [ErrBreaker] and [ErrFutile], each counted.
func (m *Machine) Schedule(r Rotation, now time.Time) (Rotation, []Effect, error) {
	m.out = nil
	earlier := m.open[r.Agent]
	switch brake := m.Brake(r.Agent, r.Session, now); {
	case earlier != nil && earlier.State != Scheduled:
		m.Refuse()
		return r, nil, ErrBusy
	case brake != "":
		m.count(brake)
		return r, nil, map[string]error{"futile": ErrFutile, "breaker": ErrBreaker}[brake]
	case earlier != nil:
		m.end(earlier, Cancelled, ReasonReplaced, now)
	}
	r.State = Scheduled
	r.Reason = ""
	r.Made = now
	r.Changed = now
	m.all[r.ID] = &r
	m.open[r.Agent] = &r
	return r, m.out, nil
}

// Cancel cancels a rotation that has not begun. Cancelling twice is not an
// error. The errors are [ErrUnknown], [ErrBusy] for a rotation that is under
// way, and [ErrEnded].
func (m *Machine) Cancel(id string, now time.Time) (Rotation, []Effect, error) {
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
