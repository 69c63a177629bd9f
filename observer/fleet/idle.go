package fleet

import (
	"time"

	"sm/alerts"
)

// Place is where an agent's client runs: its process, its tmux server and its pane there.
// Without a hook the pane is unknown, and has to be found by the process.
type Place struct {
	Socket string
	Server int
	Pane   string
	PID    int
	Start  string
}

const (
	// restFor is how long a client must have sat at its prompt: after a turn its hooks
	// may still speak, and a human may be about to go on.
	restFor = time.Second
	// silentFor is the same for a client without a registry.
	silentFor = 5 * time.Second
)

// place is where an agent's client runs: as which process, its own registry knows better.
func (a *Agent) place(c *Client) Place {
	at := Place{
		Socket: a.Tmux,
		Server: a.Server,
		Pane:   a.Pane,
		PID:    a.PID,
		Start:  a.Start,
	}
	if c.PID != 0 {
		at.PID = c.PID
		at.Start = c.ProcStart
	}
	return at
}

// AtPrompt reports whether the client's registry shows the agent's client at its
// prompt since before or earlier.
func (lv *liveness) AtPrompt(agent alerts.AgentID, before time.Time) bool {
	session := string(agent)
	if a := lv.agents[session]; a != nil {
		session = a.Session
	}
	c := lv.clients[session]
	return c.PID != 0 && c.Status == atPrompt && !c.Updated.After(before)
}

// Idle reports whether an agent's client waits at its prompt, and where. The
// client's registry decides, and hooks that are newer; without a registry, an
// ended turn and no activity since. A client that is not known to run is not
// idle.
func (lv *liveness) Idle(agent alerts.AgentID, now time.Time) (at Place, ok bool) {
	a := lv.agents[string(agent)]
	if a == nil { // no more is known of it than its session
		a = &Agent{ID: string(agent), Session: string(agent)}
	}
	c := lv.clients[a.Session]
	at = a.place(&c)
	if at.PID == 0 || at.Start == "" {
		return at, false
	}
	if c.PID != 0 {
		busy := !c.Updated.IsZero() && lv.prompted[a.ID].Time().After(c.Updated) // it will say so soon
		return at, c.Status == atPrompt && !busy && now.Sub(c.Updated) >= restFor
	}
	s := lv.sessions[a.Session]
	if c.Held && s == nil { // a thread without a prompt so far
		return at, now.Sub(a.Since.Time()) >= restFor && lv.options.Alive != nil && lv.options.Alive(at.PID, at.Start)
	}
	if s == nil || len(s.own) == 0 || s.own[0].Session.InTurn {
		return at, false
	}
	last := max(s.own[0].Session.Active, changedAt(&s.own[0].Cursor), a.Hooked, lv.prompted[a.ID])
	return at, now.Sub(last.Time()) >= silentFor && lv.options.Alive != nil && lv.options.Alive(at.PID, at.Start)
}
