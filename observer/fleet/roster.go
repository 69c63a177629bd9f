package fleet

import (
	"maps"
	"slices"
	"time"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// roster knows the agents, and what their hooks and the registry of their clients said of them.
type roster struct {
	*catalog
	agents   map[string]*Agent               // by id, those with more than a transcript
	clients  map[string]Client               // the registry, by session
	holders  map[process]string              // sessions, by the process that holds them
	gone     map[string]transcript.Instant   // when the client's process was found gone, by session
	running  map[process]string              // agents, by their signals
	prompted map[string]transcript.Instant   // the newest prompt, by agent
	recent   map[string][]transcript.Reading // by agent
}

// agentOf is the id of the agent that a session belongs to, and whether it is the agent's present session: a session that
// the agent has left says nothing about it.
func (r *roster) agentOf(s *session) (id string, current bool) {
	if s.record == nil {
		return s.key, true
	}
	a := r.agents[s.record.Agent]
	return s.record.Agent, a == nil || a.Session == s.key
}

// currentAgent finds the agent whose present session this is, nil when no more is known of it
// than the session.
func (r *roster) currentAgent(s *session) *Agent {
	if s == nil || s.record == nil {
		return nil
	}
	if a := r.agents[s.record.Agent]; a != nil && a.Session == s.key {
		return a
	}
	return nil
}

// agentIn is currentAgent by the session's key.
func (r *roster) agentIn(key string) *Agent {
	if rec := r.records[key]; rec != nil {
		if a := r.agents[rec.Agent]; a != nil && a.Session == key {
			return a
		}
	}
	return nil
}

// agentIDIn is the id of the agent whose present session this is, "" for none.
func (r *roster) agentIDIn(id string) string {
	if s := r.sessions[id]; s != nil && len(s.own) > 0 {
		if agent, current := r.agentOf(s); current {
			return agent
		}
		return ""
	}
	if a := r.agentIn(id); a != nil {
		return a.ID
	}
	return ""
}

// agent finds or makes what is kept of an agent. One that has been its session alone
// keeps the session's label and counts.
func (r *roster) agent(id string) *Agent {
	if a := r.agents[id]; a != nil {
		return a
	}
	a := &Agent{ID: id}
	if rec := r.records[id]; rec != nil && rec.Agent == id {
		a.Session = id
		a.Label = rec.Label
		a.Counted = rec.Counted
		r.runs(a, process{rec.PID, rec.ProcStart})
		a.Ended = r.gone[id]
	}
	r.agents[id] = a
	r.changed.agent(id)
	return a
}

// agentLabel is the agent's name, else the beginning of its id.
func (r *roster) agentLabel(a *Agent) string {
	if rec := r.records[a.ID]; rec != nil && rec.Agent == a.ID {
		return rec.Label
	}
	if a.Name == "" {
		return r.label(a.ID, labelLength)
	}
	return r.label(a.Name, len(a.Name))
}

// hasLeft reports whether an agent had another session before.
func (r *roster) hasLeft(a *Agent) bool {
	for key, rec := range r.records {
		if rec.Agent == a.ID && key != a.Session {
			return true
		}
	}
	return false
}

// hasWritten reports whether any session of an agent has a transcript.
func (r *roster) hasWritten(a *Agent) bool {
	for key, rec := range r.records {
		if s := r.sessions[key]; rec.Agent == a.ID && s != nil && len(s.own) > 0 {
			return true
		}
	}
	return false
}

// merge drops an agent that has turned out to be another.
func (r *roster) merge(from, to *Agent) (n Update) {
	if p := from.process(); r.running[p] == from.ID {
		r.running[p] = to.ID
	}
	r.prompted[to.ID] = max(r.prompted[to.ID], r.prompted[from.ID])
	delete(r.agents, from.ID)
	delete(r.recent, from.ID)
	delete(r.prompted, from.ID)
	r.changed.agent(from.ID)
	for key, rec := range r.records {
		if rec.Agent == from.ID {
			rec.Agent = to.ID
			r.changed.record(key)
		}
	}
	n.Renamed = append(n.Renamed, Renamed{alerts.AgentID(from.ID), alerts.AgentID(to.ID)})
	for _, id := range slices.Sorted(maps.Keys(r.agents)) {
		if a := r.agents[id]; a.Parent == from.ID && a != to {
			a.Parent = to.ID
			n.event(a.seen())
			r.changed.agent(id)
		}
		if a := r.agents[id]; a.Host == from.ID {
			a.Host = to.ID
			r.changed.agent(id)
		}
	}
	return n
}

// process names a process for ever: pids come again, start times do not.
type process struct {
	pid   int
	start string
}

func processOf(c Client) process { return process{c.PID, c.ProcStart} }

func (p process) known() bool { return p.pid > 0 && p.start != "" }

// atPrompt is the status of a client that waits for its user.
const atPrompt = "idle"

// runs notes in which process an agent runs.
func (r *roster) runs(a *Agent, p process) {
	if !a.Runs || a.process() != p {
		a.Runs = p.known() && r.alive(p.pid, p.start)
	}
	if a.PID, a.Start = p.pid, p.start; p.known() {
		r.running[p] = a.ID
	}
}

// same reports whether other is the same agent as a: it runs in the same process
// or pane, or was only the last session of a client that has ended. An agent with
// a name of its own is a different one.
func (r *roster) same(a, other *Agent) bool {
	session := r.records[other.ID] != nil
	if !session && other.ID != hook.TmuxAgent(other.Tmux, other.Server, other.Pane) {
		return false
	}
	unheard := a.PID == 0 && a.Pane == "" // it was registered and has not spoken yet
	ended := !r.alive(other.PID, other.Start)
	return unheard || ended || other.PID == 0 || other.process() == a.process() ||
		other.inPane(a.Tmux, a.Server, a.Pane)
}

// stranger reports whether the process of a signal cannot be the agent's client,
// which is another process that still runs.
func (r *roster) stranger(a *Agent, o *hook.Origin) bool {
	if a.PID == 0 || o.PID == 0 || a.PID == o.PID && (a.Start == o.Start || a.Start == "" || o.Start == "") {
		return false
	}
	return r.alive(a.PID, a.Start)
}

// inClient reports whether the client of an agent's present session runs,
// according to registry, hooks and processes.
func (r *roster) inClient(a *Agent) bool {
	if r.clients[a.Session].Runs() || a.Runs && r.alive(a.PID, a.Start) {
		return true
	}
	rec := r.records[a.Session]
	return rec != nil && r.alive(rec.PID, rec.ProcStart)
}

// lastSign is the last sign of life of an agent's present session.
func (r *roster) lastSign(a *Agent) transcript.Instant {
	last := max(a.Since, a.Spoke)
	if s := r.sessions[a.Session]; s != nil && len(s.own) > 0 {
		last = max(last, s.own[0].Session.Active)
	}
	return last
}

// Seen are the events by which an engine knows who is whose parent.
func (r *roster) Seen() (events []alerts.Event) {
	for _, id := range slices.Sorted(maps.Keys(r.agents)) {
		if a := r.agents[id]; a.Parent != "" || a.Name != "" {
			events = append(events, a.seen())
		}
	}
	return events
}

// Clock takes note of the time, before what has just been read is applied: a record that
// is stamped later counts as written now.
func (r *roster) Clock(now time.Time) { r.clock(transcript.InstantOf(now)) }

// clock takes note of the time. Where it was set back, what was stamped later than now
// counts as stamped now: or else nothing that happens from now on would count as newer.
func (r *roster) clock(now transcript.Instant) {
	if r.counters.Midnight(now, r.options.Location) && r.settled {
		r.changed.count()
	}
	back := r.newest > now+skew
	r.newest = max(r.newest, now)
	if !back {
		return
	}
	r.newest = now
	for id, a := range r.agents {
		for _, t := range []*transcript.Instant{
			&a.Since,
			&a.Spoke,
			&a.Hooked,
			&a.Begun,
			&a.Carried,
			&a.Ended,
			&a.Asked,
			&a.Sample.At,
			&a.Limits[0].At,
			&a.Limits[1].At,
		} {
			*t = min(*t, now)
		}
		r.changed.agent(id)
	}
	for id, t := range r.prompted {
		r.prompted[id] = min(t, now)
	}
	for id, t := range r.gone {
		r.gone[id] = min(t, now)
	}
}

// skew is how far stamps may lie in the future before the clock counts as set back.
const skew = transcript.Instant(30 * time.Second)

// ReplyRead reports whether the transcript shows a reply that is newer than the agent's
// hooks before this one, or there is none to wait for.
func (r *roster) ReplyRead(p *hook.Payload) bool {
	s := r.sessions[p.SessionID]
	a := r.currentAgent(s)
	if a == nil || len(s.own) == 0 {
		return true
	}
	t := &s.own[0].Session
	return t.Reading.At > a.Hooked || t.Peak == 0
}

// ClientVersion is the version of the client that a session runs in: by the client's
// registry, else by the newest record that names one; "" while neither does.
func (r *roster) ClientVersion(session string) string {
	if version := r.clients[session].Version; version != "" {
		return version
	}
	if s := r.sessions[session]; s != nil && len(s.own) > 0 {
		return s.own[0].Session.Version
	}
	return ""
}
