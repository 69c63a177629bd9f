package alerts

import "slices"

// Rename gives an agent another id, under which it goes on as before, with what it has
// been told. When the old id is not known, or the new one is, it reports false, and only
// the reminders go over.
func (e *Engine) Rename(from, to AgentID) bool {
	if from == to || to == "" {
		return false
	}
	e.renameReminders(from, to)
	a := e.agents[from]
	if a == nil || e.agents[to] != nil {
		return false
	}
	for k := range a.Said {
		if key := &a.Said[k].Key; key.Agent == from {
			key.Agent = to
		}
	}
	e.unlearn(from, to)
	e.Forget(from)
	a.Agent = to
	e.agents[to] = a
	i, _ := slices.BinarySearchFunc(e.order, to, byID)
	e.order = slices.Insert(e.order, i, a)
	e.changed[to] = struct{}{}
	return true
}

// renameReminders gives the reminders of one agent to another. The one that the
// configuration asks for the other has, or gets, under its own id.
func (tm *timers) renameReminders(from, to AgentID) {
	tm.unremind(always + string(from))
	for i := range tm.reminders {
		if r := &tm.reminders[i]; r.Agent == from {
			r.Agent, tm.reminded = to, true
		}
	}
}
