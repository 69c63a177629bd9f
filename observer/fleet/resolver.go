package fleet

import (
	"cmp"

	"sm/transcript/claude/hook"
)

// resolver finds the agent that a hook or report speaks of.
type resolver struct{ *roster }

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
	o.Tmux = ""
	o.Server = 0
	o.Pane = ""
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

// byProcess finds an agent that does not name itself: the agent that ran in the process before,
// else the agent that had the session, else the session's own id.
func (rs *resolver) byProcess(session string, o *hook.Origin) string {
	p := process{o.PID, o.Start}
	if id := rs.running[p]; id != "" {
		return id
	}
	if rec := rs.records[rs.holders[p]]; rec != nil && p.known() {
		return rec.Agent
	}
	if rec := rs.records[session]; rec != nil {
		return rec.Agent
	}
	return session
}

// nested is the agent of a client that another agent has started: its session's own.
func (rs *resolver) nested(parent *Agent, session string, o *hook.Origin) *Agent {
	rec := rs.records[session]
	switch {
	case parent.Session == session:
		return parent // the same session in two processes: the first one's
	case rec != nil && rec.Agent != parent.ID:
		session = rec.Agent
	case rec != nil && !rs.alive(o.PID, o.Start):
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
