package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"sm/transcript"
)

// Errors for an id that does not name one session.
var (
	ErrUnknown   = errors.New("no such session; GET /sessions lists them")
	ErrAmbiguous = errors.New("agents fit")
)

const (
	// prefixLength is the minimum length of an abbreviated id.
	prefixLength = 8
	// titledFor is how long after its last activity an agent can be found by
	// its title.
	titledFor = transcript.Instant(24 * time.Hour)
	// maxListed limits the agents that an error lists.
	maxListed = 5
)

// A row is the subject of one view: a session with a transcript, or an agent
// without one. of is the agent whose present session it is, nil for a session
// without an agent.
type row struct {
	s  *session
	of *agent
}

func (r *row) key() string {
	if r.s != nil {
		return r.s.key
	}
	return r.of.ID
}

// session returns the key of a row's session, "" for none.
func (r *row) session() string {
	if r.s != nil {
		return r.s.key
	}
	return r.of.Session
}

// at returns the time by which rows are sorted.
func (r *row) at() transcript.Instant {
	if r.s != nil {
		return r.s.own[0].Session.Active
	}
	return max(r.of.Statusline, r.of.Hooked)
}

// last returns the time of the last activity. The modification time of the file
// counts once the file has grown while it was followed, as the client may have
// a wrong clock and some records have no time; before, the file may be a copy.
func (r *row) last() (at transcript.Instant) {
	if r.s != nil {
		x := r.s.own[0]
		if at = x.Session.Active; at == 0 || x.grew {
			at = max(at, changedAt(&x.Cursor))
		}
	}
	if r.of != nil {
		at = max(at, r.of.Statusline, r.of.Hooked)
	}
	return at
}

// agentRow returns the row of an agent, which is that of its session if the
// session has a transcript.
func (f *Fleet) agentRow(a *agent) row {
	if s := f.sessions[a.Session]; s.read() {
		return row{s, f.currentAgent(s)}
	}
	return row{of: a}
}

// rows iterates over the rows of all views, in no order.
func (f *Fleet) rows() iter.Seq[row] {
	return func(yield func(row) bool) {
		if !f.settled {
			return
		}
		for _, s := range f.sessions {
			if s.read() && !yield(row{s, f.currentAgent(s)}) {
				return
			}
		}
		for _, a := range f.agents {
			if r := f.agentRow(a); r.s == nil && !yield(r) {
				return
			}
		}
	}
}

// rowsInOrder returns all rows, in the order of Views.
func (f *Fleet) rowsInOrder() []row {
	return slices.SortedFunc(f.rows(), func(a, b row) int {
		return cmp.Or(cmp.Compare(b.at(), a.at()), strings.Compare(a.key(), b.key()))
	})
}

// Agent finds an agent like View. With exact the id must be given in full, and
// titles are ignored. The id of a session that an agent has left leads to that
// agent.
func (f *Fleet) Agent(id string, exact bool) (agent string, err error) {
	least := fitsTitle
	if exact {
		least = fitsLabel
	}
	r, err := f.find(id, least)
	if err != nil {
		return "", err
	}
	if r.of == nil {
		return r.s.record.Agent, nil
	}
	return r.of.ID, nil
}

// called returns the agent with that full id, and stores it from now on; nil if
// there is none. A session that its agent has left belongs to no agent.
func (f *Fleet) called(id string) *agent {
	if a := f.agents[id]; a != nil {
		return a
	}
	r, err := f.find(id, fitsLabel)
	if err != nil || f.left(&r) {
		return nil
	}
	return f.agent(r.agentID())
}

// left reports whether the agent of a row's session has continued in another
// session.
func (f *Fleet) left(r *row) bool { return r.of == nil && f.agents[r.s.record.Agent] != nil }

// agentID returns the id of a row's agent, or the session's key if its agent
// has left the session.
func (r *row) agentID() string {
	if r.of != nil {
		return r.of.ID
	}
	return r.s.key
}

// find returns the row that an id fits best, at least as well as least. Most
// ids are agents' ids, which fit best; for others all rows are compared.
func (f *Fleet) find(id string, least int) (found row, err error) {
	if a := f.agents[id]; a != nil {
		found = f.agentRow(a)
	} else if s := f.sessions[id]; s.read() {
		found = row{s, f.currentAgent(s)}
	}
	if f.settled && found != (row{}) && f.fit(&found, id) == fitsAgent {
		return found, nil
	}

	best := least
	fits := map[string]row{} // by agent
	for r := range f.rows() {
		rank := f.fit(&r, id)
		if rank > best {
			continue
		}
		if rank < best {
			best = rank
			clear(fits)
		}
		found = r
		if r.of == nil { // the agent may have left this session
			found = cmp.Or(fits[r.agentID()], r)
		}
		fits[r.agentID()] = found
	}
	switch len(fits) {
	case 0:
		return found, ErrUnknown
	case 1:
		return found, nil
	}
	return found, f.ambiguous(id, slices.Collect(maps.Values(fits)))
}

// ambiguous returns an error that lists the agents that an id fits, by a unique
// name of each, the last active first.
func (f *Fleet) ambiguous(id string, fits []row) error {
	slices.SortFunc(fits, func(a, b row) int { return cmp.Compare(b.last(), a.last()) })
	var list []string
	for _, r := range fits[:min(len(fits), maxListed)] {
		v := f.view(r, f.newest.Time())
		list = append(list, fmt.Sprintf("%s (%s)", cmp.Or(v.Agent.Label, v.SessionID),
			strings.TrimSpace(v.Project+v.Last.Time().Local().Format(" Jan 2 15:04"))))
	}
	if more := len(fits) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%d %w %q: %s; use one of the ids",
		len(fits), ErrAmbiguous, id, strings.Join(list, ", "))
}

// How an id fits a session, the best first.
const (
	fitsAgent = iota
	fitsName
	fitsSession
	fitsLabel
	fitsBeginning
	fitsTitle
	fitsNot
)

func (f *Fleet) fit(r *row, id string) int {
	var agent, name, client, session, label, sessionLabel string
	if s := r.s; s != nil {
		session = s.id()
		client = f.clients[s.key].Name
		if !f.left(r) {
			agent = s.record.Agent
			sessionLabel = s.record.Label
		}
	}
	if a := r.of; a != nil {
		agent = a.ID
		name = a.Name
		label = a.Label
		session = cmp.Or(session, a.Session)
	}
	switch {
	case id == "":
		return fitsNot
	case agent == id:
		return fitsAgent
	case name == id || client == id:
		return fitsName
	case session == id:
		return fitsSession
	case label == id || sessionLabel == id: // the label of its session remains valid
		return fitsLabel
	case len(id) >= prefixLength &&
		(strings.HasPrefix(agent, id) || strings.HasPrefix(session, id)):
		return fitsBeginning
	case agent != "" && !isUUID(id) && r.last() >= f.newest-titledFor &&
		strings.EqualFold(cmp.Or(name, client, r.title()), id):
		return fitsTitle
	}
	return fitsNot
}
