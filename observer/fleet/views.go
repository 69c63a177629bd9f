package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"sm/transcript"
)

// What View says of an id that does not name one session.
var (
	ErrUnknown   = errors.New("unknown session")
	ErrAmbiguous = errors.New("more than one session is called so")
)

// prefixLength is how much of an id must be given.
const prefixLength = 8

// subagents is what the subagents' files of a session add up to; stale when one
// of them has changed.
type subagents struct {
	stale    bool
	files    int
	messages int
	tokens   transcript.Usage
}

// Views returns all sessions that have a transcript, the newest activity first; of
// equal ones in the order of their keys. There are none before Settle, since who
// was first is not known yet.
func (f *Fleet) Views(now time.Time) []View {
	order := f.order()
	views := make([]View, len(order))
	for i, p := range order {
		f.view(p.s, now, &views[i])
	}
	return views
}

// All is Views without the memory for all at once. The fleet must not be changed
// meanwhile.
func (f *Fleet) All(now time.Time) iter.Seq[View] {
	return func(yield func(View) bool) {
		for _, p := range f.order() {
			var v View
			if f.view(p.s, now, &v); !yield(v) {
				return
			}
		}
	}
}

// place is that of a session in the order of views.
type place struct {
	at transcript.Instant
	s  *session
}

func (f *Fleet) order() []place {
	order := make([]place, 0, len(f.sessions))
	for s := range f.shown() {
		order = append(order, place{s.own[0].Session.Active, s})
	}
	slices.SortFunc(order, func(a, b place) int {
		if a.at != b.at {
			return cmp.Compare(b.at, a.at)
		}
		return strings.Compare(a.s.key, b.s.key)
	})
	return order
}

// shown gives the sessions that have views, in any order.
func (f *Fleet) shown() iter.Seq[*session] {
	return func(yield func(*session) bool) {
		if !f.settled {
			return
		}
		for _, s := range f.sessions {
			if len(s.own) > 0 && !yield(s) {
				return
			}
		}
	}
}

// View finds one session. The id is, in this order, an agent's id, which names its
// newest session; an agent's name, or the one that its client goes by; a session's
// id; a label; or the first characters, at least 8, of an agent's or session's id.
func (f *Fleet) View(id string, now time.Time) (v View, err error) {
	var found *session
	best, several := fitsNot, false
	for s := range f.shown() {
		switch rank := f.fit(s, id); {
		case rank > best || rank == fitsNot:
		case rank < best:
			best, found, several = rank, s, false
		case found.seat.Agent != s.seat.Agent:
			several = true
		case cmp.Or(newestFirst(s.own[0], found.own[0]), strings.Compare(s.key, found.key)) < 0:
			found = s
		}
	}
	switch {
	case found == nil:
		return v, fmt.Errorf("%w: %q", ErrUnknown, id)
	case several:
		return v, fmt.Errorf("%w: %q", ErrAmbiguous, id)
	}
	f.view(found, now, &v)
	return v, nil
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

func (f *Fleet) fit(s *session, id string) int {
	switch {
	case id == "":
		return fitsNot
	case s.seat.Agent == id:
		return fitsAgent
	case f.clients[s.key].Name == id:
		return fitsName
	case s.id() == id:
		return fitsSession
	case s.seat.Label == id:
		return fitsLabel
	case len(id) >= prefixLength && (strings.HasPrefix(s.seat.Agent, id) || strings.HasPrefix(s.id(), id)):
		return fitsBeginning
	}
	return fitsNot
}

// id is what the session is called to the outside.
func (s *session) id() string {
	if s.uuid {
		return s.key
	}
	return cmp.Or(s.own[0].Session.ID, s.own[0].Name)
}

// view fills v, which is large and many.
func (f *Fleet) view(s *session, now time.Time, v *View) {
	x := s.own[0]
	t, in := &x.Session, &x.Inherited
	side := s.subagents()
	*v = View{
		Agent: s.seat.Agent, Label: s.seat.Label, SessionID: s.id(), Provider: "claude",
		Path: x.Cursor.Path, Project: project(t.CWD, x.Cursor.Path), CWD: t.CWD, Model: t.Model, Version: t.Version,
		Reading: t.Reading.At.Time(), Peak: t.Peak, Window: transcript.WindowOf(t, 0, f.options.Windows),
		Inherited: in.Compactions, Counted: s.seat.Counted, Cycle: 1,
		Turns: t.Turns, InTurn: t.InTurn,
		Messages: max(0, t.Messages-in.Messages), Cost: t.Tokens.Minus(in.Tokens),
		SubagentFiles:    side.files,
		SubagentMessages: side.messages + max(0, t.SideMessages-in.SideMessages),
		SubagentTokens:   side.tokens.Plus(t.SideTokens.Minus(in.SideTokens)),
		Bytes:            t.Bytes, Lines: t.Lines, Bad: t.Bad,
		Started: t.Started.Time(), Active: t.Active.Time(), Written: transcript.Instant(max(x.Cursor.Modified, -x.Cursor.Modified)).Time(),
		Client: f.clients[s.key],
	}
	if v.Tokens, v.Known = t.Context(); v.Known {
		v.Level = f.options.Thresholds.Level(v.Tokens, v.Window.Tokens)
	}
	for i, n := range t.Compactions {
		v.Compactions[i] = max(0, n-in.Compactions[i])
		v.Cycle += v.Compactions[i]
	}
	v.Live = v.Client.PID != 0 || now.Sub(v.Seen()) <= f.options.ActiveFor
}

// subagents adds up the files of the session's subagents. Of files of one name the
// newest tells, as with sessions.
func (s *session) subagents() *subagents {
	if !s.side.stale {
		return &s.side
	}
	s.side = subagents{}
	for i, x := range s.subs {
		if i > 0 && s.subs[i-1].Name == x.Name {
			continue
		}
		for _, y := range s.subs[i+1:] {
			if y.Name != x.Name {
				break
			}
			if newestFirst(y, x) < 0 {
				x = y
			}
		}
		s.side.files++
		s.side.messages += max(0, x.Session.Messages-x.Inherited.Messages)
		s.side.tokens = s.side.tokens.Plus(x.Session.Tokens.Minus(x.Inherited.Tokens))
	}
	return &s.side
}

// project names what a session works on: the working directory without its
// parents, else the folder in which its transcript lies.
func project(cwd, path string) string {
	if name := lastElement(cwd); name != "" {
		return name
	}
	return lastElement(path[:len(path)-len(lastElement(path))])
}

// lastElement takes both separators for one, whichever machine wrote the path.
func lastElement(path string) string {
	path = strings.TrimRight(path, `/\`)
	return path[strings.LastIndexAny(path, `/\`)+1:]
}
