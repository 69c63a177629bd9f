package alerts

import (
	"slices"
	"time"

	"sm/transcript"
)

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
func (e *Engine) renameReminders(from, to AgentID) {
	e.unremind(always + string(from))
	for i := range e.reminders {
		if r := &e.reminders[i]; r.Agent == from {
			r.Agent, e.reminded = to, true
		}
	}
}

// SetClock tells the time without saying what follows from it: before what has happened
// while nobody was there is known.
func (e *Engine) SetClock(now time.Time) { e.setClock(transcript.InstantOf(now)) }

// Forgotten lists the agents that have sent nothing since a time, and that are
// not at work.
func (e *Engine) Forgotten(since time.Time) (ids []AgentID) {
	cut := transcript.InstantOf(since)
	for _, a := range e.order {
		if a.Clock < cut && !a.Active {
			ids = append(ids, a.Agent)
		}
	}
	return ids
}

// AtWork lists the agents that were last told to be.
func (e *Engine) AtWork() (ids []AgentID) {
	for _, a := range e.order {
		if a.Active {
			ids = append(ids, a.Agent)
		}
	}
	return ids
}

// Open lists what was said in an agent's present cycle and not withdrawn: what its
// messages in the queue may be, should the agent be forgotten.
func (e *Engine) Open(id AgentID) (keys []Key) {
	a := e.agents[id]
	if a == nil {
		return nil
	}
	for _, s := range a.Said {
		if s.Open {
			keys = append(keys, s.Key)
		}
	}
	return keys
}
