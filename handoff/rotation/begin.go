package rotation

import "time"

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
	earlier, brake := m.open[r.Agent], m.Brake(r.Agent, r.Session, now)
	switch {
	case earlier != nil && earlier.State != Scheduled:
		m.Refuse()
		return ErrBusy
	case brake == "futile":
		m.count(&m.counters.Futile)
		return ErrFutile
	case brake == "breaker":
		m.count(&m.counters.Breaker)
		return ErrBreaker
	}
	return nil
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
