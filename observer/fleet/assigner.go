package fleet

import (
	"cmp"
	"strings"
	"time"
	"unicode"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// runs notes in which process an agent runs.
func (r *roster) runs(a *Agent, p process) {
	if !a.Runs || a.process() != p {
		a.Runs = p.known() && r.alive(p.pid, p.start)
	}
	if a.PID, a.Start = p.pid, p.start; p.known() {
		r.running[p] = a.ID
	}
}

// resolve says whose hook or report it is, and what of its origin is that agent's own.
// An agent that names itself, or its pane, may yet be another: what an agent starts
// inherits its environment.
func (rs *resolver) resolve(session string, o hook.Origin) (*Agent, hook.Origin) {
	id := o.Agent
	if !isAgent(id) {
		id = ""
	}
	if id == "" || id == hook.TmuxAgent(o.Tmux, o.Server, o.Pane) {
		id = cmp.Or(rs.registered(session, &o), id)
	}
	if a := rs.agents[rs.running[process{o.PID, o.Start}]]; a != nil && a.Host != "" && a.Host == id {
		return a, rs.own(a, o)
	}
	if id == "" {
		id = rs.byProcess(session, &o)
	}
	if id == "" {
		return nil, o
	}
	a := rs.agent(id)
	if session != "" && rs.stranger(a, &o) {
		a = rs.nested(a, session, &o)
	}
	return a, rs.own(a, o)
}

// own is an origin without what the agent has inherited from its host.
func (rs *resolver) own(a *Agent, o hook.Origin) hook.Origin {
	host := rs.agents[a.Host]
	if host == nil {
		return o
	}
	o.Tmux, o.Server, o.Pane = "", 0, ""
	if o.Name == host.Name {
		o.Name = ""
	}
	if o.Parent == host.Parent {
		o.Parent = ""
	}
	return o
}

// registered finds the agent that was made known by name for a session or a pane.
func (rs *resolver) registered(session string, o *hook.Origin) string {
	for id, a := range rs.agents {
		if a.Registered && (session != "" && a.Session == session || a.inPane(o.Tmux, o.Server, o.Pane)) {
			return id
		}
	}
	return ""
}

// inPane says whether that is the agent's pane, as far as both are known.
func (a *Agent) inPane(tmux string, server int, pane string) bool {
	return a.Pane != "" && a.Pane == pane && (a.Tmux == "" || tmux == "" || a.Tmux == tmux) &&
		(a.Server == 0 || server == 0 || a.Server == server)
}

// byProcess finds the agent without a name of its own: whoever the process was before,
// else whoever had the session, else the session.
func (rs *resolver) byProcess(session string, o *hook.Origin) string {
	p := process{o.PID, o.Start}
	if id := rs.running[p]; id != "" {
		return id
	}
	if seat := rs.seats[rs.holders[p]]; seat != nil && p.known() {
		return seat.Agent
	}
	if seat := rs.seats[session]; seat != nil {
		return seat.Agent
	}
	return session
}

// stranger says that what comes from a process cannot be the agent's, whose client is
// another one that still runs.
func (r *roster) stranger(a *Agent, o *hook.Origin) bool {
	if a.PID == 0 || o.PID == 0 || a.PID == o.PID && (a.Start == o.Start || a.Start == "" || o.Start == "") {
		return false
	}
	return r.alive(a.PID, a.Start)
}

// nested is the agent of a client that another agent has started: its session's own.
func (rs *resolver) nested(parent *Agent, session string, o *hook.Origin) *Agent {
	seat := rs.seats[session]
	switch {
	case parent.Session == session:
		return parent // the same session in two processes: the first one's
	case seat != nil && seat.Agent != parent.ID:
		session = seat.Agent
	case seat != nil && !rs.alive(o.PID, o.Start):
		return parent // what comes late of a client that it had before
	}
	a := rs.agent(session)
	if a.PID == 0 {
		a.Host = parent.ID
	}
	if a.Parent == "" {
		a.Parent = parent.ID
	}
	return a
}

// meet takes over what a signal tells about an agent besides its event. Where it runs
// is told by its own process alone, and by the next one only when that has ended.
func (as *assigner) meet(a *Agent, o *hook.Origin) (n Update) {
	before := *a
	set := func(to *string, value string) {
		if value != "" {
			*to = value
		}
	}
	if a.ID != o.Parent {
		set(&a.Parent, o.Parent)
	}
	set(&a.Name, o.Name)
	set(&a.Provider, o.Provider)
	set(&a.Project, o.Project)
	if !as.stranger(a, o) {
		if o.Pane != "" {
			a.Tmux, a.Server, a.Pane = o.Tmux, o.Server, o.Pane
		}
		if o.PID != 0 {
			as.runs(a, process{o.PID, o.Start})
		}
	}
	if a.Label == "" {
		a.Label = as.agentLabel(a)
	}
	if a.Parent != before.Parent || a.Name != before.Name {
		n.event(a.seen())
	}
	if *a != before {
		as.changed.agent(a.ID)
	}
	return n
}

// agentLabel is the agent's name, else the beginning of its id.
func (r *roster) agentLabel(a *Agent) string {
	if seat := r.seats[a.ID]; seat != nil && seat.Agent == a.ID {
		return seat.Label
	}
	if a.Name == "" {
		return r.label(a.ID, labelLength)
	}
	return r.label(a.Name, len(a.Name))
}

func (a *Agent) seen() alerts.Event {
	return alerts.Event{Kind: alerts.EventSeen, Agent: alerts.AgentID(a.ID), Parent: alerts.AgentID(a.Parent), Name: a.Name}
}

// take puts a session into an agent's seat: a new one, or one that it had before and has
// been seen to take up again. What comes late opens nothing.
func (as *assigner) take(a *Agent, key string, at transcript.Instant, cause alerts.Cause) (n Update) {
	if key == "" || a.Session == key {
		return n
	}
	seat, late := as.seats[key], at < a.Since
	switch {
	case seat == nil: // nobody knows of it yet
		seat = as.seat(key, key)
	case late:
		return as.adopt(a, seat)
	case seat.Agent == a.ID && a.Session != "" && a.Resumed != key:
		return n // a session that it has left
	default:
		n = as.leave(a, seat)
	}
	seat.Agent = a.ID
	as.changed.seat(key)
	if late {
		return n
	}
	before, first := as.lastSign(a), a.Session == "" && a.Since == 0
	as.costs.carryTotals(a, seat)
	a.Session, a.Since, a.Resumed = key, at, ""
	a.Sample, a.Report, a.Mark, a.Ended = Sample{}, Report{}, 0, 0
	delete(as.recent, a.ID)
	as.changed.agent(a.ID)
	if first {
		return n
	}
	ev := reset(a, at, cause)
	ev.Carried = a.Carried != 0 && at >= a.Carried && at <= a.Carried+carriedFor
	if s := as.sessions[key]; s != nil && len(s.own) > 0 {
		x := &s.own[0].Session
		if x.Started != 0 { // its records may have been there before the signal
			ev.At = min(at, max(x.Started, before+1)).Time()
		}
		n.event(ev)
		if _, known := x.Context(); known {
			n.event(as.gauge.reading(a.ID, x, a, x.Reading))
		}
		return n
	}
	n.event(ev)
	return n
}

// carriedFor is how long after the start of a client its first signal under the new
// session's id may come.
const carriedFor = transcript.Instant(time.Minute)

// lastSign is the last sign of life of the session in which an agent sits.
func (r *roster) lastSign(a *Agent) transcript.Instant {
	last := max(a.Since, a.Spoke)
	if s := r.sessions[a.Session]; s != nil && len(s.own) > 0 {
		last = max(last, s.own[0].Session.Active)
	}
	return last
}

// adopt gives an agent a session that it must have left already: what is told late.
// One that somebody else has stays there.
func (as *assigner) adopt(a *Agent, seat *Seat) (n Update) {
	other := as.agents[seat.Agent]
	if seat.Agent == a.ID || seat.Agent != seat.SessionID || other != nil && (other.Session != seat.SessionID || !as.same(a, other)) {
		return n
	}
	first := a.Session != "" && !as.hasLeft(a)
	n = as.leave(a, seat)
	seat.Agent = a.ID
	as.changed.seat(seat.SessionID)
	if first { // until now it seemed to have begun with the session that it is in
		n.event(reset(a, a.Since, alerts.CauseSession))
	}
	return n
}

// leave takes a session from whoever has it.
func (as *assigner) leave(a *Agent, seat *Seat) (n Update) {
	key, other := seat.SessionID, as.agents[seat.Agent]
	switch {
	case seat.Agent == a.ID:
	case other == nil && seat.Agent == key:
		n.Renamed = append(n.Renamed, Renamed{alerts.AgentID(key), alerts.AgentID(a.ID)})
	case other != nil && other.Session == key && !other.Registered && as.same(a, other):
		// It was an agent of its own only because no more was known of it.
		n = as.merge(other, a)
	case other != nil && other.Session == key:
		other.Session = ""
		as.changed.agent(other.ID)
	}
	return n
}

// same says that an agent is no other than a: it runs in the same process or pane, or it
// was no more than the last session of a client that has ended. One that names itself is
// another all the same.
func (r *roster) same(a, other *Agent) bool {
	session := r.seats[other.ID] != nil
	if !session && other.ID != hook.TmuxAgent(other.Tmux, other.Server, other.Pane) {
		return false
	}
	unheard := a.PID == 0 && a.Pane == "" // it was registered and has not spoken yet
	ended := !r.alive(other.PID, other.Start)
	return unheard || ended || other.PID == 0 || other.process() == a.process() || other.inPane(a.Tmux, a.Server, a.Pane)
}

// labelLength is how much of an id names its owner in metrics.
const labelLength = 8

// isLine reports whether a text can stand in a table and a notice.
func isLine(s string) bool {
	return len(s) <= 128 && !strings.ContainsFunc(s, unicode.IsControl)
}

// isAgent reports whether an id can be an agent's: one word that can stand in a path
// and in an address.
func isAgent(id string) bool {
	return id != "" && len(id) <= 128 && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r == 0x7f })
}
