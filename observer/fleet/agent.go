package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/hook"
)

// Agent is what is kept of an agent of which more is known than one transcript: it has
// been heard of by hooks or reports, registered, or seen in more than one session. Any
// other is no more than its session, and has the session's id.
type Agent struct {
	ID                     string
	Parent, Name, Provider string
	// Label names the agent in metrics.
	Label string
	// Session is the key of the session that sits here, "" for none; Since is when
	// that became known.
	Session string
	Since   transcript.Instant
	// Resumed is the session that a SessionStart named which need not be the one that
	// begins: after a fork it is the old one.
	Resumed string
	// Registered agents were made known by name, not by a signal.
	Registered bool
	// Host is the agent that has started this one's client, which has inherited its
	// environment: what it says of itself there is the host's.
	Host string
	// Tmux is the socket of the tmux server with process Server, Pane a %id.
	Tmux   string
	Server int
	Pane   string
	// PID and Start name the client's process, 0 and "" while unknown.
	PID   int
	Start string
	// Window is the size that the status line told of this session's, 0 for none.
	Window int64
	// Sample is the newest report of the status line that may count, Spoke the time of
	// the newest at all, Hooked that of the newest hook.
	Sample        Sample
	Spoke, Hooked transcript.Instant
	// Begun is when its session began or was taken up again, by the newest SessionStart.
	Begun transcript.Instant
	// Counted are the agent's compactions since the state directory was made.
	Counted [3]int
	// Mark is what the transcript held, in bytes, at the last compaction.
	Mark int64
}

// News is what follows from something that the fleet was told.
type News struct {
	Events []alerts.Event
	Heard  []Heard
	// Renamed agents have another id from now on; the events are under the new one.
	Renamed []Renamed
	// Lessons are sizes at which clients compacted in the history of a first start.
	Lessons []Lesson
}

// Heard is a text that reached an agent, by its transcript.
type Heard struct {
	Agent alerts.AgentID
	Text  string
	At    transcript.Instant
}

// Renamed says that an agent that was known by its session alone has turned out to be
// another.
type Renamed struct{ From, To alerts.AgentID }

// Lesson is the context size at which a client compacted by itself.
type Lesson struct {
	Model             string
	Window, PreTokens int64
}

func (n *News) add(m News) {
	n.Events = append(n.Events, m.Events...)
	n.Heard = append(n.Heard, m.Heard...)
	n.Renamed = append(n.Renamed, m.Renamed...)
	n.Lessons = append(n.Lessons, m.Lessons...)
}

func (n *News) event(ev alerts.Event) { n.Events = append(n.Events, ev) }

// agentOf is the id of the agent whose seat a session has, and whether the session
// sits there now: one that the agent has left tells nothing about it.
func (f *Fleet) agentOf(s *session) (id string, sits bool) {
	if s.seat == nil {
		return s.key, true
	}
	a := f.agents[s.seat.Agent]
	return s.seat.Agent, a == nil || a.Session == s.key
}

// sitting finds the agent in which a session sits, nil when no more is known of it
// than the session.
func (f *Fleet) sitting(s *session) *Agent {
	if s == nil || s.seat == nil {
		return nil
	}
	return f.sittingIn(s.key)
}

// sittingIn is sitting by the session's key.
func (f *Fleet) sittingIn(key string) *Agent {
	if seat := f.seats[key]; seat != nil {
		if a := f.agents[seat.Agent]; a != nil && a.Session == key {
			return a
		}
	}
	return nil
}

// agent finds or makes what is kept of an agent. One that has been its session alone
// keeps the session's label and counts.
func (f *Fleet) agent(id string) *Agent {
	if a := f.agents[id]; a != nil {
		return a
	}
	a := &Agent{ID: id}
	if seat := f.seats[id]; seat != nil && seat.Agent == id {
		a.Session, a.Label, a.Counted = id, seat.Label, seat.Counted
		f.runs(a, process{seat.PID, seat.ProcStart})
	}
	f.agents[id] = a
	f.changed.agent(id)
	return a
}

// runs notes in which process an agent runs.
func (f *Fleet) runs(a *Agent, p process) {
	if a.PID, a.Start = p.pid, p.start; p.known() {
		f.running[p] = a.ID
	}
}

// resolve says whose hook or report it is, and what of its origin is that agent's own.
// An agent that names itself, or its pane, may yet be another: what an agent starts
// inherits its environment.
func (f *Fleet) resolve(session string, o hook.Origin) (*Agent, hook.Origin) {
	id := o.Agent
	if id == "" || id == hook.TmuxAgent(o.Tmux, o.Server, o.Pane) {
		id = cmp.Or(f.registered(session, &o), id)
	}
	if a := f.agents[f.running[process{o.PID, o.Start}]]; a != nil && a.Host != "" && a.Host == id {
		return a, f.own(a, o)
	}
	if id == "" {
		id = f.byProcess(session, &o)
	}
	if id == "" {
		return nil, o
	}
	a := f.agent(id)
	if session != "" && f.stranger(a, &o) {
		a = f.nested(a, session, &o)
	}
	return a, f.own(a, o)
}

// own is an origin without what the agent has inherited from its host.
func (f *Fleet) own(a *Agent, o hook.Origin) hook.Origin {
	host := f.agents[a.Host]
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
func (f *Fleet) registered(session string, o *hook.Origin) string {
	for id, a := range f.agents {
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
func (f *Fleet) byProcess(session string, o *hook.Origin) string {
	p := process{o.PID, o.Start}
	if id := f.running[p]; id != "" {
		return id
	}
	if seat := f.seats[f.holders[p]]; seat != nil && p.known() {
		return seat.Agent
	}
	if seat := f.seats[session]; seat != nil {
		return seat.Agent
	}
	return session
}

// stranger says that what comes from a process cannot be the agent's, whose client is
// another one that still runs.
func (f *Fleet) stranger(a *Agent, o *hook.Origin) bool {
	if a.PID == 0 || o.PID == 0 || a.PID == o.PID && (a.Start == o.Start || a.Start == "" || o.Start == "") {
		return false
	}
	return f.alive(a.PID, a.Start)
}

// nested is the agent of a client that another agent has started: its session's own.
func (f *Fleet) nested(parent *Agent, session string, o *hook.Origin) *Agent {
	seat := f.seats[session]
	switch {
	case parent.Session == session:
		return parent // the same session in two processes: the first one's
	case seat != nil && seat.Agent != parent.ID:
		session = seat.Agent
	case seat != nil && !f.alive(o.PID, o.Start):
		return parent // what comes late of a client that it had before
	}
	a := f.agent(session)
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
func (f *Fleet) meet(a *Agent, o *hook.Origin) (n News) {
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
	if !f.stranger(a, o) {
		if o.Pane != "" {
			a.Tmux, a.Server, a.Pane = o.Tmux, o.Server, o.Pane
		}
		if o.PID != 0 {
			f.runs(a, process{o.PID, o.Start})
		}
	}
	if a.Label == "" {
		a.Label = f.agentLabel(a)
	}
	if a.Parent != before.Parent || a.Name != before.Name {
		n.event(f.seen(a))
	}
	if *a != before {
		f.changed.agent(a.ID)
	}
	return n
}

// agentLabel is the agent's name, else the beginning of its id.
func (f *Fleet) agentLabel(a *Agent) string {
	if seat := f.seats[a.ID]; seat != nil && seat.Agent == a.ID {
		return seat.Label
	}
	if a.Name == "" {
		return f.label(a.ID, labelLength)
	}
	return f.label(a.Name, len(a.Name))
}

func (f *Fleet) seen(a *Agent) alerts.Event {
	return alerts.Event{Kind: alerts.EventSeen, Agent: alerts.AgentID(a.ID), Parent: alerts.AgentID(a.Parent), Name: a.Name}
}

// take puts a session into an agent's seat: a new one, or one that it had before and has
// been seen to take up again. What comes late opens nothing.
func (f *Fleet) take(a *Agent, key string, at transcript.Instant, cause alerts.Cause) (n News) {
	if key == "" || a.Session == key {
		return n
	}
	seat, late := f.seats[key], at < a.Since
	switch {
	case seat == nil: // nobody knows of it yet
		seat = f.seat(key, key)
	case late:
		return f.adopt(a, seat)
	case seat.Agent == a.ID && a.Session != "" && a.Resumed != key:
		return n // a session that it has left
	default:
		n = f.leave(a, seat)
	}
	seat.Agent = a.ID
	f.changed.seat(key)
	if late {
		return n
	}
	old := a.Session
	first := old == "" && a.Since == 0
	a.Session, a.Since, a.Resumed = key, at, ""
	a.Sample, a.Mark = Sample{}, 0
	delete(f.recent, a.ID)
	f.changed.agent(a.ID)
	if first {
		return n
	}
	ev := reset(a, at, cause)
	if s := f.sessions[key]; s != nil && len(s.own) > 0 {
		x := &s.own[0].Session
		if x.Started != 0 && x.Started < at && x.Started > a.started(f, old) {
			ev.At = x.Started.Time() // its records were there before the signal
		}
		n.event(ev)
		if tokens, known := x.Context(); known {
			n.event(f.reading(a.ID, x, a.Window, x.Reading.At, tokens))
		}
		return n
	}
	n.event(ev)
	return n
}

// started is the last sign of life of the session before.
func (a *Agent) started(f *Fleet, old string) transcript.Instant {
	if s := f.sessions[old]; s != nil && len(s.own) > 0 {
		return s.own[0].Session.Started
	}
	return 0
}

// adopt gives an agent a session that it must have left already: what is told late.
// One that somebody else has stays there.
func (f *Fleet) adopt(a *Agent, seat *Seat) (n News) {
	other := f.agents[seat.Agent]
	if seat.Agent == a.ID || seat.Agent != seat.SessionID || other != nil && (other.Session != seat.SessionID || !f.same(a, other)) {
		return n
	}
	first := a.Session != "" && !f.hasLeft(a)
	n = f.leave(a, seat)
	seat.Agent = a.ID
	f.changed.seat(seat.SessionID)
	if first { // until now it seemed to have begun with the session that it is in
		n.event(reset(a, a.Since, alerts.CauseSession))
	}
	return n
}

// hasLeft says whether an agent has had another session before.
func (f *Fleet) hasLeft(a *Agent) bool {
	for key, seat := range f.seats {
		if seat.Agent == a.ID && key != a.Session {
			return true
		}
	}
	return false
}

func reset(a *Agent, at transcript.Instant, cause alerts.Cause) alerts.Event {
	return alerts.Event{
		Kind: alerts.EventReset, Agent: alerts.AgentID(a.ID), At: at.Time(), Cause: cause, Key: transcript.KeyOf([]byte(a.Session)),
	}
}

// leave takes a session from whoever has it.
func (f *Fleet) leave(a *Agent, seat *Seat) (n News) {
	key, other := seat.SessionID, f.agents[seat.Agent]
	switch {
	case seat.Agent == a.ID:
	case other == nil && seat.Agent == key:
		n.Renamed = append(n.Renamed, Renamed{alerts.AgentID(key), alerts.AgentID(a.ID)})
	case other != nil && other.Session == key && !other.Registered && f.same(a, other):
		// It was an agent of its own only because no more was known of it.
		n = f.merge(other, a)
	case other != nil && other.Session == key:
		other.Session = ""
		f.changed.agent(other.ID)
	}
	return n
}

// same says that an agent is no other than a: it runs in the same process or pane, or it
// was no more than the last session of a client that has ended. One that names itself is
// another all the same.
func (f *Fleet) same(a, other *Agent) bool {
	session := f.seats[other.ID] != nil
	if !session && other.ID != hook.TmuxAgent(other.Tmux, other.Server, other.Pane) {
		return false
	}
	unheard := a.PID == 0 && a.Pane == "" // it was registered and has not spoken yet
	ended := session && !f.alive(other.PID, other.Start)
	return unheard || ended || other.PID == 0 || other.process() == a.process() || other.inPane(a.Tmux, a.Server, a.Pane)
}

func (f *Fleet) alive(pid int, start string) bool {
	return f.options.Alive != nil && f.options.Alive(pid, start)
}

// merge drops an agent that has turned out to be another.
func (f *Fleet) merge(from, to *Agent) (n News) {
	if p := from.process(); f.running[p] == from.ID {
		f.running[p] = to.ID
	}
	f.prompted[to.ID] = max(f.prompted[to.ID], f.prompted[from.ID])
	delete(f.agents, from.ID)
	delete(f.recent, from.ID)
	delete(f.prompted, from.ID)
	f.changed.agent(from.ID)
	for key, seat := range f.seats {
		if seat.Agent == from.ID {
			seat.Agent = to.ID
			f.changed.seat(key)
		}
	}
	n.Renamed = append(n.Renamed, Renamed{alerts.AgentID(from.ID), alerts.AgentID(to.ID)})
	for _, id := range slices.Sorted(maps.Keys(f.agents)) {
		if a := f.agents[id]; a.Parent == from.ID && a != to {
			a.Parent = to.ID
			n.event(f.seen(a))
			f.changed.agent(id)
		}
		if a := f.agents[id]; a.Host == from.ID {
			a.Host = to.ID
			f.changed.agent(id)
		}
	}
	return n
}

// labelLength is how much of an id names its owner in metrics.
const labelLength = 8

// isAgent reports whether an id can be an agent's: one word that can stand in a path
// and in an address.
func isAgent(id string) bool {
	return id != "" && len(id) <= 128 && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// Activity tells which agents have begun or ceased to be at work, since the last call.
func (f *Fleet) Activity(now time.Time) (events []alerts.Event) {
	on := map[string]bool{}
	for r := range f.rows() {
		if f.live(&r, now) {
			on[f.seatOf(&r)] = true
		}
	}
	tell := func(id string, live bool) {
		events = append(events, alerts.Event{Kind: alerts.EventActive, Agent: alerts.AgentID(id), At: now, On: live})
	}
	for _, id := range slices.Sorted(maps.Keys(on)) {
		if !f.active[id] {
			tell(id, true)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(f.active)) {
		if !on[id] {
			tell(id, false)
		}
	}
	f.active = on
	return events
}

// live says whether the agent that sits there is at work, as views do: many are asked
// often, and few are.
func (f *Fleet) live(r *row, now time.Time) bool {
	last := transcript.Instant(0)
	if r.s != nil {
		if id, sits := f.agentOf(r.s); !sits || id == "" {
			return false
		}
		x := r.s.own[0]
		last = max(x.Session.Active, transcript.Instant(x.Cursor.Modified), transcript.Instant(-x.Cursor.Modified))
		if len(f.clients) > 0 && f.clients[r.s.key].PID != 0 {
			return true
		}
	}
	if a := r.of; a != nil {
		last = max(last, a.Spoke, a.Hooked)
		if r.s == nil && f.clients[a.Session].PID != 0 {
			return true
		}
	}
	return now.Sub(last.Time()) <= f.options.ActiveFor
}

// Seen are the events by which an engine knows who is whose parent.
func (f *Fleet) Seen() (events []alerts.Event) {
	for _, id := range slices.Sorted(maps.Keys(f.agents)) {
		if a := f.agents[id]; a.Parent != "" || a.Name != "" {
			events = append(events, f.seen(a))
		}
	}
	return events
}

// ReadUntil says up to when it is known what an agent has heard, for an offer of a time:
// the time of the newest record of its transcript, or for one that is at rest or has gone,
// when nothing more is to come, a moment before now. Any is false without a transcript.
//
// What SessionStart was answered clients write down with the next prompt, be it days later.
// Of an offer at that time nothing is known until there is a newer record.
func (f *Fleet) ReadUntil(agent alerts.AgentID, offered, now time.Time) (until time.Time, any bool) {
	id := string(agent)
	a := f.agents[id]
	if a != nil {
		id = a.Session
	}
	c := f.clients[id]
	gone := c.PID == 0 && (a == nil || a.PID == 0 || f.options.Alive == nil || !f.options.Alive(a.PID, a.Start))
	at := transcript.InstantOf(offered)
	starting := !gone && a != nil && a.Begun != 0 && at >= a.Begun && at <= a.Begun+lag
	s := f.sessions[id]
	if s == nil || len(s.own) == 0 {
		return until, starting
	}
	t := &s.own[0].Session
	starting = starting && t.Active <= at
	if gone || !starting && (c.Status == atPrompt || c.Status == "" && !t.InTurn) {
		return now.Add(-tailDelay), true
	}
	return t.Active.Time(), true
}

// tailDelay is how long a record may take from the transcript to here.
const tailDelay = 5 * time.Second

// Dropped counts the reports of the status line that said nothing any more.
func (f *Fleet) Dropped() uint64 { return f.dropped }
