package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"sm/alerts"
	"sm/transcript"
)

// What View says of an id that does not name one session.
var (
	ErrUnknown   = errors.New("unknown session")
	ErrAmbiguous = errors.New("more than one session is called so")
)

// prefixLength is how much of an id must be given.
const prefixLength = 8

// finder finds sessions and agents by what they are called.
type finder struct{ *roster }

// row is what there is one view of: a session with a transcript, or an agent without.
// of is the agent whose present session it is, nil when no more is known than the session.
type row struct {
	at transcript.Instant
	s  *session
	of *Agent
}

func (r *row) key() string {
	if r.s != nil {
		return r.s.key
	}
	return r.of.ID
}

// session is the key of the session that a row is of, "" for none.
func (r *row) session() string {
	switch {
	case r.s != nil:
		return r.s.key
	case r.of != nil:
		return r.of.Session
	}
	return ""
}

// last is when a row was last heard of: see lastWritten.
func (r *row) last() (at transcript.Instant) {
	if r.s != nil {
		at = lastWritten(r.s.own[0])
	}
	if r.of != nil {
		at = max(at, r.of.Spoke, r.of.Hooked)
	}
	return at
}

// rows gives what has views, in any order.
func (fd *finder) rows() iter.Seq[row] {
	return func(yield func(row) bool) {
		if !fd.settled {
			return
		}
		for _, s := range fd.sessions {
			if len(s.own) > 0 && !yield(row{s.own[0].Session.Active, s, fd.currentAgent(s)}) {
				return
			}
		}
		for _, a := range fd.agents {
			if s := fd.sessions[a.Session]; s != nil && len(s.own) > 0 {
				continue
			}
			if !yield(row{max(a.Spoke, a.Hooked), nil, a}) {
				return
			}
		}
	}
}

func (fd *finder) order() []row {
	order := make([]row, 0, len(fd.sessions))
	for r := range fd.rows() {
		order = append(order, r)
	}
	slices.SortFunc(order, func(a, b row) int {
		if a.at != b.at {
			return cmp.Compare(b.at, a.at)
		}
		return strings.Compare(a.key(), b.key())
	})
	return order
}

// Agent finds an agent as View does. With exact the id must be given in full. A
// session that an agent has left leads to that agent: who names the session means the agent.
func (fd *finder) Agent(id string, exact bool) (agent alerts.AgentID, err error) {
	least := fitsBeginning
	if exact {
		least = fitsLabel
	}
	r, err := fd.find(id, least)
	if err != nil {
		return "", err
	}
	if r.of == nil {
		return alerts.AgentID(r.s.record.Agent), nil
	}
	return alerts.AgentID(r.of.ID), nil
}

// called returns the agent with that full id, and keeps it from now on. A session
// that its agent has left belongs to no agent.
func (fd *finder) called(id string) *Agent {
	if a := fd.agents[id]; a != nil {
		return a
	}
	r, err := fd.find(id, fitsLabel)
	if err != nil || r.of == nil && fd.agents[r.s.record.Agent] != nil {
		return nil
	}
	a := fd.agent(fd.agentID(&r))
	if a.Label == "" {
		a.Label = fd.agentLabel(a)
	}
	return a
}

// agentID is the id of the agent that a row is of; for a session that its agent has left it is the session's own
// key.
func (fd *finder) agentID(r *row) string {
	switch {
	case r.of != nil:
		return r.of.ID
	case fd.agents[r.s.record.Agent] != nil:
		return r.s.key
	}
	return r.s.record.Agent
}

// find finds the row that an id fits best. Most ids are those of agents, which fit better than all else: only for
// others are all rows looked at.
func (fd *finder) find(id string, least int) (found row, err error) {
	if r, ok := fd.named(id); ok {
		return r, nil
	}
	return fd.search(id, least)
}

// named finds the row of an agent by its id. There is at most one: a record of a session names either an agent that is
// known or its own session.
func (fd *finder) named(id string) (r row, ok bool) {
	a := fd.agents[id]
	key := id
	if a != nil {
		key = a.Session
	}
	if s := fd.sessions[key]; s != nil && len(s.own) > 0 {
		r = row{s.own[0].Session.Active, s, fd.currentAgent(s)}
	} else if a != nil {
		r = row{max(a.Spoke, a.Hooked), nil, a}
	} else {
		return r, false
	}
	return r, fd.settled && fd.fit(&r, id) == fitsAgent
}

func (fd *finder) search(id string, least int) (found row, err error) {
	best := fitsNot
	several := false
	for r := range fd.rows() {
		switch rank := fd.fit(&r, id); {
		case rank > best || rank > least:
		case rank < best:
			best = rank
			found = r
			several = false
		case fd.agentID(&found) != fd.agentID(&r):
			several = true
		case found.s == nil ||
			r.s != nil && cmp.Or(newestFirst(r.s.own[0], found.s.own[0]), strings.Compare(r.s.key, found.s.key)) < 0:
			found = r
		}
	}
	switch {
	case best == fitsNot:
		return found, fmt.Errorf("%w: %q", ErrUnknown, id)
	case several:
		return found, fmt.Errorf("%w: %q", ErrAmbiguous, id)
	}
	return found, nil
}

// How an id fits a session, the best first.
const (
	fitsAgent = iota
	fitsName
	fitsSession
	fitsLabel
	fitsBeginning
	fitsNot
)

func (fd *finder) fit(r *row, id string) int {
	agent, name, session, label := fd.names(r)
	switch {
	case id == "":
		return fitsNot
	case agent == id:
		return fitsAgent
	case name == id || r.s != nil && fd.clients[r.s.key].Name == id:
		return fitsName
	case session == id:
		return fitsSession
	case label == id:
		return fitsLabel
	case len(id) >= prefixLength && (strings.HasPrefix(agent, id) || strings.HasPrefix(session, id)):
		return fitsBeginning
	}
	return fitsNot
}

// names are those that a row goes by, "" for none.
func (fd *finder) names(r *row) (agent, name, session, label string) {
	if r.s != nil {
		agent, session, label = r.s.record.Agent, r.s.id(), r.s.record.Label
		if r.of == nil && fd.agents[agent] != nil {
			agent = ""
			label = "" // it has gone on
		}
	}
	if r.of != nil {
		agent, name, label = r.of.ID, r.of.Name, cmp.Or(r.of.Label, label)
		session = cmp.Or(session, r.of.Session)
	}
	return agent, name, session, label
}
