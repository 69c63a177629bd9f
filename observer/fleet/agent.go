package fleet

import (
	"maps"
	"slices"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/claude"
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
	// Carried is when a SessionStart last told of a fork or a resume: the session that
	// follows begins with the context of another.
	Carried transcript.Instant
	// Registered agents were made known by name, not by a signal.
	Registered bool
	// Host is the agent that has started this one's client, which has inherited its
	// environment: what it says of itself there is the host's.
	Host string
	// Project is the directory in which its client was started.
	Project string
	// Tmux is the socket of the tmux server with process Server, Pane a %id.
	Tmux   string
	Server int
	Pane   string
	// PID and Start name the client's process, 0 and "" while unknown. Runs says that it
	// was seen to run on this machine, and has not been seen to have ended.
	PID   int
	Start string
	Runs  bool
	// Ended is when the client of this session ended, by its last hook or because its
	// process was found to be gone; 0 for a client that may run. What is heard of the
	// session later shows that another client has taken it up.
	Ended transcript.Instant
	// Window is the size that the status line told of this session's, 0 for none.
	Window int64
	// Told is what its client was told about compacting by itself, nil for nothing. What
	// it points to never changes.
	Told *claude.AutoCompact
	// Sample is the newest report of the status line that may count, Spoke the time of
	// the newest at all, Hooked that of the newest hook.
	Sample        Sample
	Spoke, Hooked transcript.Instant
	// Report is what else the status line said of this session.
	Report Report
	// Limits are those of its account: five hours, seven days.
	Limits [2]Limit
	// Fresh is the session that began with this agent's client, by its SessionStart.
	Fresh string
	// HookedIn is the session in which the newest hook has come, "" for none: whether hooks
	// work may change with each session.
	HookedIn string
	// CWD is the folder that its client was started in, "" while no hook has told.
	CWD string
	// Begun is when its session began or was taken up again, by the newest SessionStart.
	Begun transcript.Instant
	// Counted are the agent's compactions since the state directory was made.
	Counted [3]int
	// Mark is what the transcript held, in bytes, at the last compaction.
	Mark int64
}

// Report is what the status line said of the present session besides its context.
type Report struct {
	// Name is the one that the user gave the session, "" for none.
	Name string
	// Cost is the session's total.
	Cost Cost
	// CacheHit is the share of all input that was read from the cache, 0 to 1.
	CacheHit      float64
	CacheHitKnown bool
}

// Limit is one window of an account's rate limits, as reported at a time; Used is 0 to 1.
type Limit struct {
	At, Resets transcript.Instant
	Used       float64
}

// Update is what follows from something that the fleet was told.
type Update struct {
	Events []alerts.Event
	Heard  []Heard
	// Renamed agents have another id from now on; the events are under the new one.
	Renamed []Renamed
	// Observed are sizes at which clients compacted in the history of a first start.
	Observed []alerts.ObservedCompactions
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

func (n *Update) add(m Update) {
	n.Events = append(n.Events, m.Events...)
	n.Heard = append(n.Heard, m.Heard...)
	n.Renamed = append(n.Renamed, m.Renamed...)
	n.Observed = append(n.Observed, m.Observed...)
}

func (n *Update) event(ev alerts.Event) { n.Events = append(n.Events, ev) }

// agentOf is the id of the agent whose seat a session has, and whether the session
// sits there now: one that the agent has left tells nothing about it.
func (r *roster) agentOf(s *session) (id string, sits bool) {
	if s.seat == nil {
		return s.key, true
	}
	a := r.agents[s.seat.Agent]
	return s.seat.Agent, a == nil || a.Session == s.key
}

// sitting finds the agent in which a session sits, nil when no more is known of it
// than the session.
func (r *roster) sitting(s *session) *Agent {
	if s == nil || s.seat == nil {
		return nil
	}
	if a := r.agents[s.seat.Agent]; a != nil && a.Session == s.key {
		return a
	}
	return nil
}

// sittingIn is sitting by the session's key.
func (r *roster) sittingIn(key string) *Agent {
	if seat := r.seats[key]; seat != nil {
		if a := r.agents[seat.Agent]; a != nil && a.Session == key {
			return a
		}
	}
	return nil
}

// agent finds or makes what is kept of an agent. One that has been its session alone
// keeps the session's label and counts.
func (r *roster) agent(id string) *Agent {
	if a := r.agents[id]; a != nil {
		return a
	}
	a := &Agent{ID: id}
	if seat := r.seats[id]; seat != nil && seat.Agent == id {
		a.Session, a.Label, a.Counted = id, seat.Label, seat.Counted
		r.runs(a, process{seat.PID, seat.ProcStart})
		a.Ended = r.gone[id]
	}
	r.agents[id] = a
	r.changed.agent(id)
	return a
}

// hasLeft says whether an agent has had another session before.
func (r *roster) hasLeft(a *Agent) bool {
	for key, seat := range r.seats {
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

func (b *basis) alive(pid int, start string) bool {
	return b.options.Alive != nil && b.options.Alive(pid, start)
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
	for key, seat := range r.seats {
		if seat.Agent == from.ID {
			seat.Agent = to.ID
			r.changed.seat(key)
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
