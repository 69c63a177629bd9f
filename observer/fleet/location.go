package fleet

import (
	"cmp"
	"time"

	"sm/alerts"
	"sm/transcript/clients"
)

// Location is where an agent works: in which session, folder and process.
type Location struct {
	Session string // "" for none
	Path    string // of its transcript, "" while there is none
	// CWD is the folder in which the client was started. The transcript has the
	// folder in which the agent works, so CWD decides only as a last resort.
	CWD      string
	Project  string    // the directory in which its client was started, as far as that is known
	Started  time.Time // when the session began, zero while unknown
	Name     string
	Provider string
	At       Place
	// Heard means that a hook or status line has reported the agent's client.
	Heard bool
	// Open means that a client of Codex holds a lock on the session; Daemon means
	// that this client is a process with the sessions of many agents.
	Open, Daemon bool
}

// Location returns where an agent works, as far as that is known; ok is false for an unknown agent.
func (f *Fleet) Location(agent alerts.AgentID) (s Location, ok bool) {
	a := f.orSession(agent)
	if f.agents[a.ID] == nil && f.transcript(a.ID) == nil {
		return s, false
	}
	c := f.clients[a.Session]
	s = Location{
		Session:  a.Session,
		Name:     a.Name,
		Provider: cmp.Or(a.Provider, a.Client, clients.Claude),
		Started:  a.Begun.Time(),
		CWD:      cmp.Or(c.CWD, a.CWD),
		At:       a.place(&c),
		Open:     c.Held,
		Daemon:   c.Held && !c.Holder.Own,
		Heard:    a.Hooked != 0 || a.Spoke != 0,
		Project:  cmp.Or(a.Project, c.CWD, a.CWD),
	}
	if x := f.transcript(a.Session); x != nil {
		t := &x.Session
		s.Path = x.Cursor.Path
		s.CWD = cmp.Or(s.CWD, t.CWD)
		s.Provider = cmp.Or(a.Provider, f.client(t).Client)
		s.Project = cmp.Or(a.Project, s.CWD)
		if at := t.Started.Time(); s.Started.IsZero() || t.Started != 0 && at.Before(s.Started) {
			s.Started = at
		}
	}
	return s, true
}

// HooksSeen reports whether a hook of the agent's present session was received, so
// that its hooks work.
func (f *Fleet) HooksSeen(agent alerts.AgentID) bool {
	a := f.orSession(agent)
	return a.HookedIn != "" && a.HookedIn == a.Session
}

// Reachable reports whether messages can reach agents at all: a hook was seen, an
// agent was registered, or a client with a queue has a thread open.
func (f *Fleet) Reachable(now time.Time) bool {
	for _, a := range f.agents {
		if a.Hooked != 0 || a.Registered {
			return true
		}
	}

	for session := range f.clients {
		if _, _, queued := f.Thread(alerts.AgentID(session), now); queued {
			return true
		}
	}
	return false
}

// Gone reports whether an agent's client is known and has ended.
func (f *Fleet) Gone(agent alerts.AgentID) bool {
	s, ok := f.Location(agent)
	return ok && s.At.PID != 0 && f.options.Alive != nil && !f.alive(s.At.PID, s.At.Start)
}

// Process is one process of this machine. Start distinguishes reused pids.
type Process struct {
	PID   int
	Start string
}

// Caller finds the agent whose client has started a process, by that process and those
// that it descends from, the nearest first. A client that an agent's client has started
// is nearer than the agent's.
func (f *Fleet) Caller(line []Process) (agent alerts.AgentID, ok bool) {
	for _, p := range line {
		if id := f.running[p]; id != "" {
			return alerts.AgentID(id), true
		}
		if rec := f.recordOf(f.holders[p]); rec != nil {
			return alerts.AgentID(rec.Agent), true
		}
	}
	return "", false
}
