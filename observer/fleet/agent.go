package fleet

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"sm/alerts"
	"sm/observer/tally"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// agentOf returns the id of the agent that a session belongs to. current
// reports whether it is the agent's present session: a session that the agent
// has left does not describe the agent.
func (f *Fleet) agentOf(s *session) (id string, current bool) {
	if s.record == nil {
		return s.key, true
	}
	a := f.agents[s.record.Agent]
	return s.record.Agent, a == nil || a.Session == s.key
}

// currentAgent returns the agent whose present session is s, nil if there is
// none.
func (f *Fleet) currentAgent(s *session) *agent {
	if s == nil || s.record == nil {
		return nil
	}
	if a := f.agents[s.record.Agent]; a != nil && a.Session == s.key {
		return a
	}
	return nil
}

// agentIn returns the agent whose present session is s. If there is none, it
// returns an agent with the session's id that is not stored.
func (f *Fleet) agentIn(s *session) *agent {
	if a := f.currentAgent(s); a != nil {
		return a
	}
	a := &agent{Agent: Agent{ID: s.key, Present: Present{Session: s.key}}}
	if rec := s.record; rec != nil {
		a.Counted = rec.Counted
		if f.agents[rec.Agent] == nil {
			a.Label = rec.Label
		}
	}
	return a
}

// orSession returns the agent with an id. If there is none, it returns an agent
// with that id as its session, which is not stored.
func (f *Fleet) orSession(id string) *agent {
	if a := f.agents[id]; a != nil {
		return a
	}
	return &agent{Agent: Agent{ID: id, Present: Present{Session: id}}}
}

// agent returns the state of an agent, and creates it if there is none. The new
// agent gets the label and counts of the session with its id.
func (f *Fleet) agent(id string) *agent {
	if a := f.agents[id]; a != nil {
		return a
	}
	a := &agent{Agent: Agent{ID: id}}
	if rec := f.recordOf(id); rec != nil && rec.Agent == id {
		a.Session = id
		a.Label = rec.Label
		a.Counted = rec.Counted
		f.runs(a, rec.process())
		a.Ended = f.sessions[id].gone
	}
	f.agents[id] = a
	f.changed.agent(id)
	return a
}

// merge drops the agent from, which has turned out to be the agent to.
func (f *Fleet) merge(from, to *agent) {
	if p := from.Process; f.running[p] == from.ID {
		f.running[p] = to.ID
	}
	to.Prompted = max(to.Prompted, from.Prompted)
	to.Hooked = max(to.Hooked, from.Hooked)
	to.HookedIn = cmp.Or(from.HookedIn, to.HookedIn)
	if to.PID == 0 && (from.PID != 0 || to.Pane == "") {
		to.Place = from.Place
		f.runs(to, from.Process)
	}
	f.describe(to, &hook.Origin{
		Parent: cmp.Or(to.Parent, from.Parent),
		Name:   cmp.Or(to.Name, from.Name),
	})
	delete(f.agents, from.ID)
	f.changed.agent(from.ID)
	for _, rec := range f.recordsOf(from.ID) {
		rec.Agent = to.ID
		f.changed.record(rec.SessionID)
	}
	f.rename(from.ID, to.ID)
}

// reassign gives an agent another id, and returns it.
func (f *Fleet) reassign(a *agent, id string) *agent {
	to := new(*a)
	to.ID = id
	to.Label = ""
	if f.recordOf(a.ID) == nil { // else its session keeps the label
		delete(f.labels, a.Label)
	}
	f.agents[id] = to
	f.changed.agent(id)
	f.merge(a, to)
	f.emit(to.seen())
	return to
}

// rename reports that an agent has another id, and replaces the id where other
// agents refer to it.
func (f *Fleet) rename(from, to string) {
	f.out.Renamed = append(f.out.Renamed, Renamed{from, to})
	if f.active[from] {
		delete(f.active, from)
		f.active[to] = true
	}
	for _, id := range slices.Sorted(maps.Keys(f.agents)) {
		a := f.agents[id]
		if a.Parent == from || id == to && a.Parent == to {
			a.Parent = to
			if id == to {
				a.Parent = ""
			}
			f.emit(a.seen())
			f.changed.agent(id)
		}
		if a.Host == from {
			a.Host = to
			f.changed.agent(id)
		}
	}
}

func processOf(c Client) Process { return Process{c.PID, c.ProcStart} }

// senderOf returns the process that sent a signal.
func senderOf(o *hook.Origin) Process { return Process{o.PID, o.Start} }

func (p Process) known() bool { return p.PID > 0 && p.Start != "" }

// atPrompt is the status of a client that waits for its user.
const atPrompt = "idle"

// runs sets the process in which an agent runs.
func (f *Fleet) runs(a *agent, p Process) {
	if !a.Runs || a.Process != p {
		a.Runs = p.known() && f.alive(p)
	}
	a.Process = p
	if !p.known() {
		return
	}
	if was := f.agents[f.running[p]]; was != nil && was != a && was.Process == p {
		was.Place = Place{} // a process runs one agent
		was.Runs = false
		f.changed.agent(was.ID)
	}
	f.running[p] = a.ID
}

// same reports whether other is the same agent as a: it runs in the same
// process or pane, or was only the last session of a client that has ended. An
// agent with its own name is a different one.
func (f *Fleet) same(a, other *agent) bool {
	if f.recordOf(other.ID) == nil && !hook.IsTmuxAgent(other.ID) {
		return false
	}
	return a.PID == 0 || // no signal of its client so far
		!f.alive(other.Process) || other.inPane(a.Tmux, a.Server, a.Pane)
}

// otherProcess reports whether a signal comes from a process other than the
// agent's client, and that client still runs.
func (f *Fleet) otherProcess(a *agent, o *hook.Origin) bool {
	if a.PID == 0 || o.PID == 0 ||
		a.PID == o.PID && (a.Start == o.Start || a.Start == "" || o.Start == "") {
		return false
	}
	return f.alive(a.Process)
}

// inClient reports whether the client of an agent's present session runs,
// according to registry, hooks and processes.
func (f *Fleet) inClient(a *agent) bool {
	if f.clients[a.Session].Runs() || a.Runs && f.alive(a.Process) {
		return true
	}
	rec := f.recordOf(a.Session)
	return rec != nil && f.alive(rec.process())
}

// lastSign returns the time of the last activity of an agent's present session.
func (f *Fleet) lastSign(a *agent) transcript.Instant {
	return max(a.Since, a.Statusline, f.sessionOf(a).Active)
}

// Seen returns the events from which an engine learns the parents of agents.
func (f *Fleet) Seen() (events []alerts.Event) {
	for _, id := range slices.Sorted(maps.Keys(f.agents)) {
		if a := f.agents[id]; a.Parent != "" || a.Name != "" {
			events = append(events, a.seen())
		}
	}
	return events
}

// Clock sets the time. It is called before changes that were just read are
// applied.
func (f *Fleet) Clock(now time.Time) { f.clock(transcript.InstantOf(now)) }

// clock sets the time, and resets the totals of the day at midnight.
func (f *Fleet) clock(now transcript.Instant) {
	if f.counters.Midnight(now, f.options.Location) && f.settled {
		f.changed.counters = true
	}
	f.newest = max(f.newest, now)
}

// ReplyRead reports whether the transcript has a reply that is newer than the
// agent's previous hooks, or no reply is expected.
func (f *Fleet) ReplyRead(p *hook.Payload) bool {
	x := f.transcript(p.SessionID)
	if x == nil {
		return true
	}
	t := &x.Session
	a := f.currentAgent(x.of)
	return a == nil || t.Reading.At > a.Hooked || t.Peak == 0
}

// ClientVersion returns the version of the client that a session runs in: by
// the client's registry, else by the newest record with a version; "" if
// unknown.
func (f *Fleet) ClientVersion(session string) string {
	version := f.clients[session].Version
	if x := f.transcript(session); x != nil {
		version = cmp.Or(version, x.Session.Version)
	}
	return version
}

// signal returns the agent of a hook or report, nil for none, and applies the
// part of the origin that concerns this agent.
func (f *Fleet) signal(session string, o hook.Origin) *agent {
	a := f.resolve(session, o)
	if a != nil {
		before := f.orSession(f.running[senderOf(&o)]).Session
		if rec := f.recordOf(before); rec != nil && before != session {
			f.adopt(a, rec) // the client has left that session
		}
		own := f.own(a, o)
		if a.Registered { // the registration takes precedence over the environment
			own.Parent = cmp.Or(a.Parent, own.Parent)
			own.Name = cmp.Or(a.Name, own.Name)
		}
		a.Named = a.ID == o.Agent && !hook.IsTmuxAgent(a.ID)
		f.changed.agent(a.ID)
		f.describe(a, &own)
	}
	return a
}

// resolve finds the agent of a hook or report. The agent or pane that a signal
// names may be that of another agent, whose client started the sender: child
// processes inherit the environment.
func (f *Fleet) resolve(session string, o hook.Origin) *agent {
	id := o.Agent
	if !isAgent(id) {
		id = ""
	}
	pane := hook.TmuxAgent(o.Tmux, o.Server, o.Pane)
	if id == "" || id == pane {
		id = cmp.Or(f.registered(session, &o), id)
	}
	p := senderOf(&o)
	if a := f.agents[f.running[p]]; a != nil && (id == pane || a.Host != "" && a.Host == id) {
		return a
	}
	if id == "" { // the signal has no agent
		id = f.inProcess(p)
	}
	if rec := f.recordOf(session); id == "" && rec != nil {
		id = rec.Agent
	}
	if id = cmp.Or(id, session); id == "" {
		return nil
	}
	a := f.agent(id)
	if id == pane && f.replaced(a, session, &o) {
		a = f.vacate(a)
	}
	if session != "" && f.otherProcess(a, &o) {
		a = f.nested(a, session, &o)
	}
	return a
}

// replaced reports whether a signal from an agent's pane comes from another
// client than the agent's: that client runs elsewhere now, or it has ended and
// the signal is of another project, and of a session that the agent has not
// been in.
func (f *Fleet) replaced(a *agent, session string, o *hook.Origin) bool {
	c := f.clients[a.Session]
	rec := f.recordOf(session)
	switch {
	case a.Session == session:
		return false
	case a.Pane != o.Pane && f.otherProcess(a, o), c.Runs() && c.PID != a.PID && c.PID != o.PID:
		return true
	}
	return o.Project != "" && a.Project != "" && f.project(o.Project) != f.project(a.Project) &&
		!f.inClient(a) && (rec == nil || rec.Agent != a.ID)
}

// vacate returns a new agent for the pane of an agent that was replaced there.
// The old agent gets the id of its session, and keeps the messages that wait
// for it.
func (f *Fleet) vacate(a *agent) *agent {
	if f.agents[a.Session] != nil || f.recordOf(a.Session) == nil {
		return a
	}
	to := f.reassign(a, a.Session)
	to.Pane = ""
	for _, x := range f.agents {
		if x.Host == to.ID { // it still has the pane in its environment
			x.Host = a.ID
			f.changed.agent(x.ID)
		}
	}
	return f.agent(a.ID)
}

// own returns an origin without the values that the agent has inherited from
// its host.
func (f *Fleet) own(a *agent, o hook.Origin) hook.Origin {
	host := f.agents[a.Host]
	if host == nil {
		return o
	}
	if host.inPane(o.Tmux, o.Server, o.Pane) {
		o.Tmux = ""
		o.Server = 0
		o.Pane = ""
	}
	if o.Name == host.Name {
		o.Name = ""
	}
	if o.Parent == host.Parent {
		o.Parent = ""
	}
	return o
}

// registered finds the agent that was registered for a session or a pane, ""
// for none.
func (f *Fleet) registered(session string, o *hook.Origin) (found string) {
	for id, a := range f.agents {
		switch {
		case !a.Registered:
		case session != "" && a.Session == session:
			return id
		case a.inPane(o.Tmux, o.Server, o.Pane) && !f.replaced(a, session, o):
			found = id
		}
	}
	return found
}

// inProcess finds the agent that runs in a process, or whose session is held by
// that process; "" for none.
func (f *Fleet) inProcess(p Process) string {
	id := f.running[p]
	if rec := f.recordOf(f.holders[p]); id == "" && rec != nil && p.known() {
		return rec.Agent
	}
	return id
}

// nested returns the agent of a client that another agent has started. It has
// the id of its session.
func (f *Fleet) nested(parent *agent, session string, o *hook.Origin) *agent {
	rec := f.recordOf(session)
	switch {
	case parent.Session == session:
		return parent // of two processes with one session the first counts
	case rec != nil && rec.Agent != parent.ID && !f.otherProcess(f.orSession(rec.Agent), o):
		session = rec.Agent
	case rec != nil && !f.alive(senderOf(o)):
		return parent // a late signal of an earlier client
	case parent.ID == session: // another client resumes it
		f.release(parent)
		return parent
	}
	a := f.agent(session)
	if o.Agent == "" {
		return a // the client resumes a session that parent has left
	}
	if a.PID == 0 || a.Process == senderOf(o) {
		a.Host = parent.ID
	}
	f.describe(a, &hook.Origin{Parent: cmp.Or(a.Parent, parent.ID)})
	return a
}

// Agent is the stored state of an agent that is more than one transcript: its
// client has sent hooks or reports, it was registered, or it had several
// sessions. Any other agent has only its session's state, and has the session's
// id.
type Agent struct {
	ID                     string
	Parent, Name, Provider string
	// Label names the agent in metrics.
	Label string
	Present
	Reported
	// Carried is the time of the newest SessionStart of a fork or resume, whose
	// session begins with the context of another session.
	Carried transcript.Instant
	// Registered means that the agent was registered by name. Named means that
	// the environment of its client contains the id.
	Registered, Named bool
	// Place is where its client runs, according to its hooks. Runs means that
	// the process was found running on this machine and has not ended since.
	Place
	Runs bool
	// Counted has the agent's compactions since the state directory was
	// created.
	Counted transcript.TriggerCounts
}

// Reported has the values that hooks and the status line reported of an agent's
// client.
type Reported struct {
	// Client is the client according to the newest hook, "" for Claude Code. It
	// is used if there is no transcript.
	Client string
	// Window is this session's window according to the status line, 0 for none.
	Window int64
	// AutoCompact has the client's settings for automatic compaction.
	AutoCompact hook.AutoCompact
	// CacheWriteUSD is the cost, in US dollars, that the client expects for
	// writing the context of a resumed or forked session into the cache with
	// the first request; 0 if unknown. It is valid until the session's next
	// reading.
	CacheWriteUSD float64 `json:",omitzero"`
	// Limits are the account's rate limits for five hours and for seven days.
	Limits [2]Limit
	// CWD is the folder in which the client was started, "" before the first hook.
	CWD string
	// Fresh is the session that began together with the client, by its
	// SessionStart.
	Fresh string
	// Begun is when its session began or was resumed, by the newest
	// SessionStart.
	Begun transcript.Instant
	// HookedIn is the session of the newest hook, "" for none. Hooks may work
	// in one session and not in the next.
	HookedIn string
	// Statusline, Hooked and Prompted are the times of the newest report of the
	// status line, hook and prompt. Asked is when a hook reported Asks.
	Statusline              transcript.Instant `json:"Spoke,omitzero"`
	Hooked, Prompted, Asked transcript.Instant
}

// Present is the part of an agent's state that another session resets.
type Present struct {
	// Session is the key of the agent's present session, "" for none. Since is
	// when that became known.
	Session string
	Since   transcript.Instant
	// Resumed is the session that a SessionStart named. A fork names the old
	// session and begins another one.
	Resumed string
	// Ended is when the client of this session ended, by its last hook or
	// because its process was found to be gone; 0 for a client that may run. A
	// later signal of the session means that another client has resumed it.
	Ended transcript.Instant
	// Sample is the context in the newest relevant report of the status line,
	// Report the rest of that report.
	Sample Sample
	Report Report
	// Asks is why the client waits for a person, as reported by a hook; "" once
	// a later hook has shown that the client continues.
	Asks string
	// Mark is the size of the transcript, in bytes, at the last compaction.
	Mark int64
}

// agent is an Agent with the state that is not stored.
type agent struct {
	Agent
	recent []transcript.Reading // the newest readings of its session
}

// Report has the values that the status line reported of the present session
// besides its context.
type Report struct {
	// Name is the name that the user gave the session, "" for none.
	Name string
	// Cost is the session's total.
	Cost tally.Cost
	// CacheHit is the share of all input that was read from the cache, 0 to 1.
	CacheHit      float64
	CacheHitKnown bool
	// CacheTTL is how long an entry of the prompt cache lives. CacheExpires is
	// when the newest entry expires. They are "" and 0 if unknown.
	CacheTTL     string             `json:",omitempty"`
	CacheExpires transcript.Instant `json:",omitempty"`
}

// Limit is one window of an account's rate limits.
type Limit = transcript.Limit

func reset(a *agent, at transcript.Instant, cause alerts.Cause) alerts.Event {
	return alerts.Event{
		Kind:  alerts.EventReset,
		Agent: a.ID,
		At:    at.Time(),
		Cause: cause,
		Key:   transcript.KeyOf([]byte(a.Session)),
	}
}

// inPane reports whether the agent is in that pane, as far as both are known.
func (a *agent) inPane(tmux string, server int, pane string) bool {
	return a.Pane != "" && a.Pane == pane && (a.Tmux == "" || tmux == "" || a.Tmux == tmux) &&
		(a.Server == 0 || server == 0 || a.Server == server)
}

func (a *agent) seen() alerts.Event {
	return alerts.Event{
		Kind:   alerts.EventSeen,
		Agent:  a.ID,
		Parent: a.Parent,
		Name:   a.Name,
	}
}
