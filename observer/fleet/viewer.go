package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/claude"
)

// What View says of an id that does not name one session.
var (
	ErrUnknown   = errors.New("unknown session")
	ErrAmbiguous = errors.New("more than one session is called so")
)

// prefixLength is how much of an id must be given.
const prefixLength = 8

// subagents are a session's files of subagents, and what they add up to; stale when one
// of them has changed.
type subagents struct {
	list     []*file // by name
	stale    bool
	files    int
	messages int
	tokens   transcript.Usage
}

// row is what there is one view of: a session with a transcript, or an agent without.
// of is the agent in which the session sits, nil when no more is known than that.
type row struct {
	at transcript.Instant
	s  *session
	of *Agent
}

// Views returns all sessions that have a transcript, and the agents that have none, the
// newest activity first; of equal ones in the order of their keys. There are none before
// Settle, since who was first is not known yet.
func (vw *viewer) Views(now time.Time) []View {
	order := vw.order()
	views := make([]View, len(order))
	for i := range order {
		vw.view(&order[i], now, &views[i])
	}
	return views
}

// All is Views without the memory for all at once. The fleet must not be changed
// meanwhile.
func (vw *viewer) All(now time.Time) iter.Seq[View] {
	return func(yield func(View) bool) {
		order := vw.order()
		for i := range order {
			var v View
			if vw.view(&order[i], now, &v); !yield(v) {
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

func (r *row) key() string {
	if r.s != nil {
		return r.s.key
	}
	return r.of.ID
}

// rows gives what has views, in any order.
func (fd *finder) rows() iter.Seq[row] {
	return func(yield func(row) bool) {
		if !fd.settled {
			return
		}
		for _, s := range fd.sessions {
			if len(s.own) > 0 && !yield(row{s.own[0].Session.Active, s, fd.sitting(s)}) {
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

// View finds one session. The id is, in this order, an agent's id, which names the
// session that sits there; an agent's name, or the one that its client goes by; a
// session's id; a label; or the first characters, at least 8, of an agent's or
// session's id.
func (vw *viewer) View(id string, now time.Time) (v View, err error) {
	r, err := vw.find(id, fitsBeginning)
	if err != nil {
		return v, err
	}
	vw.view(&r, now, &v)
	return v, nil
}

// Agent finds an agent as View does; what is called so in full alone when exact. A
// session that an agent has left leads to that agent: whoever names it means the agent.
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
		return alerts.AgentID(r.s.seat.Agent), nil
	}
	return alerts.AgentID(r.of.ID), nil
}

// called finds the agent that an id names in full, and keeps it from now on. A session
// that an agent has left is nobody's.
func (fd *finder) called(id string) *Agent {
	if a := fd.agents[id]; a != nil {
		return a
	}
	r, err := fd.find(id, fitsLabel)
	if err != nil || r.of == nil && fd.agents[r.s.seat.Agent] != nil {
		return nil
	}
	a := fd.agent(fd.seatOf(&r))
	if a.Label == "" {
		a.Label = fd.agentLabel(a)
	}
	return a
}

// seatOf is the id of the agent that a row is of; a session that an agent has left
// stands for itself.
func (fd *finder) seatOf(r *row) string {
	switch {
	case r.of != nil:
		return r.of.ID
	case fd.agents[r.s.seat.Agent] != nil:
		return r.s.key
	}
	return r.s.seat.Agent
}

func (fd *finder) find(id string, least int) (found row, err error) {
	best, several := fitsNot, false
	for r := range fd.rows() {
		switch rank := fd.fit(&r, id); {
		case rank > best || rank > least:
		case rank < best:
			best, found, several = rank, r, false
		case fd.seatOf(&found) != fd.seatOf(&r):
			several = true
		case found.s == nil || r.s != nil && cmp.Or(newestFirst(r.s.own[0], found.s.own[0]), strings.Compare(r.s.key, found.s.key)) < 0:
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
		agent, session, label = r.s.seat.Agent, r.s.id(), r.s.seat.Label
		if r.of == nil && fd.agents[agent] != nil {
			agent, label = "", "" // it has gone on
		}
	}
	if r.of != nil {
		agent, name, label = r.of.ID, r.of.Name, cmp.Or(r.of.Label, label)
		session = cmp.Or(session, r.of.Session)
	}
	return agent, name, session, label
}

// id is what the session is called to the outside.
func (s *session) id() string {
	if s.uuid {
		return s.key
	}
	return cmp.Or(s.own[0].Session.ID, s.own[0].Name)
}

// view fills v, which is large and many.
func (vw *viewer) view(r *row, now time.Time, v *View) {
	*v = View{Provider: "claude", Program: Claude, Cycle: 1}
	if r.s != nil {
		vw.viewSession(r, v)
	}
	if a := r.of; a != nil {
		vw.viewAgent(a, now, v)
	} else if r.s != nil && vw.agents[r.s.seat.Agent] != nil {
		v.Agent, v.Label, v.Past = r.s.key, "", true
	}
	v.Title = r.title()
	if a := r.of; a != nil {
		v.Paid, v.CacheHit, v.CacheHitKnown = a.Report.Cost, a.Report.CacheHit, a.Report.CacheHitKnown
	}
	v.Ended = !v.Past && v.Client.PID == 0 && vw.ended(r)
	v.Live = v.Client.PID != 0 || !v.Past && !v.Ended && now.Sub(v.Seen()) <= vw.options.ActiveFor
}

func (vw *viewer) viewSession(r *row, v *View) {
	s := r.s
	x := s.own[0]
	t, in := &x.Session, &x.also().Inherited
	side := s.subagents()
	window := int64(0)
	if r.of != nil {
		window = r.of.Window
	}
	*v = View{
		Agent: s.seat.Agent, Label: s.seat.Label, SessionID: s.id(), Provider: v.Provider, Program: v.Program,
		Path: x.Cursor.Path, Project: project(t.CWD, x.Cursor.Path), CWD: t.CWD, Model: t.Model, Version: t.Version,
		Reading: t.Reading.At.Time(), Peak: t.Peak, Window: claude.WindowOf(t, window, vw.options.Windows),
		Inherited: in.Compactions, Counted: s.seat.Counted, Cycle: 1,
		Turns: t.Turns, InTurn: t.InTurn,
		Messages: max(0, t.Messages-in.Messages), Cost: t.Tokens.Minus(in.Tokens),
		SubagentFiles:    side.files,
		SubagentMessages: side.messages + max(0, t.SideMessages-in.SideMessages),
		SubagentTokens:   side.tokens.Plus(t.SideTokens.Minus(in.SideTokens)),
		Bytes:            t.Bytes, Lines: t.Lines, Bad: t.Bad,
		Started: t.Started.Time(), Active: t.Active.Time(), Written: written(x),
		Client: vw.clients[s.key],
	}
	if v.Tokens, v.Known = t.Context(); v.Known {
		v.Cleared = t.Reading.Cleared
	} else {
		if n := vw.gauge.estimate(x, r.of); n > 0 {
			v.Tokens, v.Known, v.Source, v.Reading = n, true, transcript.FromEstimate, v.Active
		}
	}
	if v.Known {
		v.Level = vw.options.Thresholds.Level(v.Tokens, v.Window.Tokens, vw.gauge.compactsAt(r.of, t, v.Window.Tokens))
	}
	for i, n := range t.Compactions {
		v.Compactions[i] = max(0, n-in.Compactions[i])
		v.Cycle += v.Compactions[i]
	}
}

// CacheHits is the share of all input that was read from the cache, 0 to 1: by the status
// line, else by the transcript's tokens.
func (v *View) CacheHits() (ratio float64, known bool) {
	if n := v.Cost.Context(); n > 0 && !v.CacheHitKnown {
		return float64(v.Cost.CacheRead) / float64(n), true
	}
	return v.CacheHit, v.CacheHitKnown
}

// title is what people call the session: the best that its own files and the status line
// say; of files that say equally much the newest.
func (r *row) title() string {
	var t transcript.Title
	if r.of != nil && r.of.Report.Name != "" {
		t = transcript.NewTitle(r.of.Report.Name, transcript.TitleStatus)
	}
	if r.s != nil {
		for _, x := range r.s.own {
			t = t.Or(x.titleOf())
		}
	}
	return t.Text
}

// written is when the file was last changed.
func written(x *file) time.Time {
	return transcript.Instant(max(x.Cursor.Modified, -x.Cursor.Modified)).Time()
}

// seen is when a session last did anything.
func seen(x *file) time.Time {
	v := View{Active: x.Session.Active.Time(), Written: written(x)}
	return v.Seen()
}

// viewAgent adds what is known of the agent besides its transcript.
func (vw *viewer) viewAgent(a *Agent, now time.Time, v *View) {
	v.Agent, v.Name, v.ParentID, v.Provider = a.ID, a.Name, a.Parent, cmp.Or(a.Provider, v.Provider)
	v.Label = cmp.Or(a.Label, v.Label)
	v.Counted = a.Counted
	v.Spoke, v.Hooked = a.Spoke.Time(), a.Hooked.Time()
	v.Tmux, v.Server, v.Pane, v.PID, v.Start = a.Tmux, a.Server, a.Pane, a.PID, a.Start
	v.Sample = a.Sample
	v.Check, v.Drift, v.DriftKnown = a.check(transcript.InstantOf(now))
	if s := vw.sessions[a.Session]; a.Sample.Back && v.Known && s != nil && len(s.own) > 0 {
		v.Tokens, v.Cleared, v.Known, v.Source, v.Reading = a.Sample.Tokens, 0, a.Sample.Tokens > 0, transcript.FromStatusline, a.Sample.At.Time()
		v.Level = vw.options.Thresholds.Level(v.Tokens, v.Window.Tokens, vw.gauge.compactsAt(a, &s.own[0].Session, v.Window.Tokens))
	}
	if v.SessionID == "" {
		v.SessionID, v.Model, v.Client = a.Session, a.Sample.Model, vw.clients[a.Session]
		v.Window = claude.WindowOf(&transcript.Session{Model: v.Model}, a.Window, vw.options.Windows)
	}
}

// subagents adds up the files of the session's subagents. Of files of one name the
// newest tells, as with sessions.
func (s *session) subagents() *subagents {
	if s.side == nil {
		return &subagents{}
	}
	if !s.side.stale {
		return s.side
	}
	list := s.side.list
	*s.side = subagents{list: list}
	for i, x := range list {
		if i > 0 && list[i-1].Name == x.Name {
			continue
		}
		for _, y := range list[i+1:] {
			if y.Name != x.Name {
				break
			}
			if newestFirst(y, x) < 0 {
				x = y
			}
		}
		s.side.files++
		s.side.messages += max(0, x.Session.Messages-x.also().Inherited.Messages)
		s.side.tokens = s.side.tokens.Plus(x.Session.Tokens.Minus(x.also().Inherited.Tokens))
	}
	return s.side
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
