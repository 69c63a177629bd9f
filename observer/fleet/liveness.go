package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"sm/alerts"
	"sm/transcript"
)

// Activity returns events for the agents that started or stopped working since
// the last call. Of the agents known only by their transcript the newest
// maxUnconfirmed count.
func (f *Fleet) Activity(now time.Time) (events []alerts.Event) {
	on := f.activeAgents(now)
	ids := maps.Clone(f.active)
	maps.Copy(ids, on)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if on[id] != f.active[id] {
			events = append(events, alerts.Event{
				Kind:  alerts.EventActive,
				Agent: id,
				At:    now,
				On:    on[id],
			})
		}
	}
	f.active = on
	return events
}

// maxUnconfirmed limits how many agents count as active on the evidence of their
// transcript alone. Restoring a backup makes every transcript look fresh, and an
// active agent takes several times the memory of an inactive one.
const maxUnconfirmed = 2000

// activeAgents returns the agents that are active. Agents with a running client
// or a signal always count; of the others, the maxUnconfirmed newest.
func (f *Fleet) activeAgents(now time.Time) map[string]bool {
	on := map[string]bool{}
	var unconfirmed []row
	for r := range f.rows() {
		running := f.clients[r.session()].Runs()
		switch {
		case f.left(&r) || !running && (!f.lately(&r, now) || f.ended(&r)):
		case r.of != nil || running:
			on[r.agentID()] = true
		default:
			unconfirmed = append(unconfirmed, r)
		}
	}
	slices.SortFunc(unconfirmed, func(a, b row) int {
		return cmp.Or(
			cmp.Compare(b.last(), a.last()),
			strings.Compare(a.agentID(), b.agentID()),
		)
	})
	for _, r := range unconfirmed[:min(len(unconfirmed), maxUnconfirmed)] {
		on[r.agentID()] = true
	}
	return on
}

// lately reports whether a row had activity within ActiveFor.
func (f *Fleet) lately(r *row, now time.Time) bool {
	return now.Sub(r.last().Time()) <= ActiveFor
}

// WereAtWork sets the agents that were active before a restart, so that
// Activity reports those that stopped.
func (f *Fleet) WereAtWork(ids []string) {
	for _, id := range ids {
		f.active[id] = true
	}
}

// Resting returns an EventTurnEnd for each client that is idle at its prompt.
func (f *Fleet) Resting(now time.Time) (events []alerts.Event) {
	for _, id := range slices.Sorted(maps.Keys(f.clients)) {
		ev, rests := f.rest(f.clients[id])
		if !rests {
			continue
		}
		if ev.At.IsZero() {
			ev.At = now
		}
		events = append(events, ev)
	}
	return events
}

// rest returns the EventTurnEnd of a client that is idle at its prompt.
func (f *Fleet) rest(c Client) (ev alerts.Event, rests bool) {
	s := f.sessions[c.SessionID]
	if s == nil || c.Status != atPrompt {
		return ev, false
	}
	id, current := f.agentOf(s)
	return alerts.Event{
		Kind:  alerts.EventTurnEnd,
		Agent: id,
		At:    c.Updated,
	}, current && (s.read() || f.agents[id] != nil)
}

// ReadUntil returns the time up to which it is known what an agent has
// received: the time of the newest record of its transcript, or a moment before
// now if no record is missing, as the agent is idle, has ended or has cleared
// its context. answered is the time of an offer in the answer to a hook, zero
// for other offers. known is false without a transcript.
//
// Clients write the answer to SessionStart with the next prompt, which may be
// days later. Until there is a newer record, known is true and until is not
// after answered.
func (f *Fleet) ReadUntil(
	agent string,
	answered, now time.Time,
) (until time.Time, known bool) {
	a := f.orSession(agent)
	c := f.clients[a.Session]
	gone := !c.Runs() && (a.PID == 0 || !f.alive(a.Process))
	at := transcript.InstantOf(answered)
	starting := !gone && a.Begun != 0 && at >= a.Begun && at <= a.Begun+lag
	until = now.Add(-tailDelay)
	x := f.transcript(a.Session)
	if x == nil {
		wrote := func(rec *SessionRecord) bool { return f.transcript(rec.SessionID) != nil }
		if !starting && slices.ContainsFunc(f.recordsOf(a.ID), wrote) { // it will be written again
			return until, true
		}
		return time.Time{}, starting
	}
	t := &x.Session
	starting = starting && t.Active <= at
	if gone || !starting && (c.Status == atPrompt || c.Status == "" && !t.InTurn) {
		return until, true
	}
	if active := t.Active.Time(); active.Before(until) { // times in the future prove nothing
		until = active
	}
	return until, true
}

// tailDelay is the maximum time until a written record has been read.
const tailDelay = 5 * time.Second

// waits reports whether a client waits for a person, with the reason and since
// when, if known: by its registry or a hook, whichever is newer. A record newer
// than the hook shows that the client has continued.
func (f *Fleet) waits(r *row) (reason string, since transcript.Instant, waits bool) {
	c := f.clients[r.session()]
	since = transcript.InstantOf(c.Updated)
	if a := r.of; a != nil && a.Asks != "" && since <= a.Asked &&
		(r.s == nil || r.s.own[0].Session.Active <= a.Asked) {
		return a.Asks, a.Asked, true
	}
	return c.Waiting, since, c.Status == "waiting"
}

// ended reports whether the client of a row that is not in the registry has
// ended, without activity of the session since. The time of a record may be a
// moment after the client's last hook.
func (f *Fleet) ended(r *row) bool {
	at := transcript.Instant(0)
	if s := f.sessions[r.session()]; s != nil {
		at = s.gone
	}
	signaled := transcript.Instant(0)
	if a := r.of; a != nil {
		at = max(at, a.Ended)
		signaled = max(a.Hooked, a.Statusline)
	}
	if at == 0 {
		return false
	}
	if r.s != nil {
		x := r.s.own[0]
		wrote := cmp.Or(x.Session.Active, changedAt(&x.Cursor)) // records may have no times
		signaled = max(signaled, wrote-lag)
	}
	return signaled <= at
}

// MarkEnded marks clients that have ended without a hook, as after a kill, and
// reports whether there are any. It skips clients in the registry, which are
// known to run.
func (f *Fleet) MarkEnded(now time.Time) (found bool) {
	if f.options.Alive == nil || !f.settled {
		return false
	}
	at := transcript.InstantOf(now)
	for _, a := range f.agents {
		r := f.agentRow(a)
		r.of = a
		if a.Runs && f.unheld(&r) && !f.alive(a.Process) {
			a.Runs = false
			a.Ended = at
			found = true
			f.changed.agent(a.ID)
		}
	}
	for p, key := range f.holders {
		s := f.sessions[key]
		if !s.read() || s.gone != 0 {
			continue
		}
		r := row{s, f.currentAgent(s)}
		if r.of != nil && r.of.Runs { // in another process, according to its hooks
			continue
		}
		if f.unheld(&r) && !f.alive(p) {
			s.gone = at
			found = true
		}
	}
	return found
}

// unheld reports whether a row counts as active although it is not in the
// registry.
func (f *Fleet) unheld(r *row) bool {
	key := r.session()
	return key != "" && !f.clients[key].Runs() && !f.ended(r)
}

// Place is where an agent's client runs: its process, its tmux server and its
// pane. Without a hook the pane is unknown, and must be found by the process.
type Place struct {
	// Tmux is the socket of the tmux server with process Server, Pane the %id
	// of a pane.
	Tmux   string
	Server int
	Pane   string
	// Project is the directory in which the client was started.
	Project string
	// Host is the agent that started the client. The client has inherited its
	// environment, with the host's name and parent. After names have moved it
	// may be the client's own agent.
	Host string
	Process
}

const (
	// restFor is how long a client must have been at its prompt to count as
	// idle: after a turn its hooks may still come, and a person may be about to
	// type.
	restFor = time.Second
	// silentFor is the same for a client without a registry.
	silentFor = 5 * time.Second
)

// place returns where an agent's client runs. The process in the client's
// registry takes precedence.
func (a *agent) place(c *Client) Place {
	at := a.Place
	if c.PID != 0 {
		at.Process = processOf(*c)
	}
	return at
}

// AtPrompt reports whether the client's registry shows the agent's client at its
// prompt since before or earlier.
func (f *Fleet) AtPrompt(agent string, before time.Time) bool {
	c := f.clients[f.orSession(agent).Session]
	return c.PID != 0 && c.Status == atPrompt && !c.Updated.After(before)
}

// Idle reports whether an agent's client is idle at its prompt, and where. The
// client's registry decides, and newer hooks; without a registry, an ended turn
// and no activity since. A client that is not known to run is not idle.
func (f *Fleet) Idle(agent string, now time.Time) (at Place, ok bool) {
	a := f.orSession(agent)
	c := f.clients[a.Session]
	at = a.place(&c)
	if !at.known() {
		return at, false
	}
	if c.PID != 0 {
		busy := !c.Updated.IsZero() &&
			a.Prompted.Time().After(c.Updated) // before the registry shows it
		return at, c.Status == atPrompt && !busy && now.Sub(c.Updated) >= restFor
	}
	last := a.Since
	least := restFor
	switch x := f.transcript(a.Session); {
	case x != nil && !x.Session.InTurn:
		last = max(x.Session.Active, changedAt(&x.Cursor), a.Hooked, a.Prompted)
		least = silentFor
	case x != nil || !c.Held: // otherwise it is a thread without a prompt
		return at, false
	}
	return at, now.Sub(last.Time()) >= least && f.alive(at.Process)
}

// Location is the session, folder and process of an agent.
type Location struct {
	Session string // "" for none
	Path    string // of its transcript, "" while there is none
	// Project is the directory in which the client was started; if that is
	// unknown, the one in which the agent works.
	Project  string
	Started  time.Time // when the session began, zero while unknown
	Name     string
	Provider string
	At       Place
	// Replied is the time of the newest reply, or of the newest record in a
	// session without figures; zero without a transcript.
	Replied time.Time
	// Reported means that a hook or status line has reported the agent's client.
	Reported bool
	// Open means that a client of Codex holds a lock on the session; Daemon
	// means that this client is a process with the sessions of many agents.
	Open, Daemon bool
}

// Location returns the session, folder and process of an agent. Unknown fields
// are zero.
func (f *Fleet) Location(agent string) (s Location) {
	a := f.orSession(agent)
	x := f.transcript(a.Session)
	if f.agents[a.ID] == nil && x == nil {
		return s
	}
	c := f.clients[a.Session]
	t := f.sessionOf(a)
	started := a.Begun
	if t.Started != 0 && (started == 0 || t.Started < started) {
		started = t.Started
	}
	s = Location{
		Session:  a.Session,
		Project:  cmp.Or(a.Project, c.CWD, a.CWD, t.CWD),
		Started:  started.Time(),
		Name:     a.Name,
		Provider: cmp.Or(a.Provider, f.client(t).Client),
		At:       a.place(&c),
		Reported: a.Hooked != 0 || a.Statusline != 0,
		Open:     c.Held,
		Daemon:   c.Held && !c.Holder.Own,
	}
	if x != nil {
		s.Path = x.Cursor.Path
		s.Replied = cmp.Or(t.Reading.At, t.Active).Time()
	}
	return s
}

// HooksSeen reports whether a hook of the agent's present session was received,
// so that its hooks work.
func (f *Fleet) HooksSeen(agent string) bool {
	a := f.orSession(agent)
	return a.HookedIn != "" && a.HookedIn == a.Session
}

// Reachable reports whether messages can reach an agent, or any with "": a hook of its
// present session was seen, it has a pane, or its client has a queue.
func (f *Fleet) Reachable(agent string, now time.Time) bool {
	if agent != "" {
		_, _, queued := f.Thread(agent, now)
		return queued || f.HooksSeen(agent) || f.orSession(agent).Pane != ""
	}
	for _, a := range f.agents {
		if a.HookedIn != "" || a.Pane != "" {
			return true
		}
	}
	for session := range f.clients {
		if _, _, queued := f.Thread(session, now); queued {
			return true
		}
	}
	return false
}

// Gone reports whether an agent's client is known and has ended.
func (f *Fleet) Gone(agent string) bool {
	s := f.Location(agent)
	return s.At.PID != 0 && f.options.Alive != nil && !f.alive(s.At.Process)
}

// Process is a process of this machine, zero if unknown. Start distinguishes
// reused pids.
type Process struct {
	PID   int
	Start string
}

// Caller returns the agent whose client has started a process, "" for none.
// line has the process and its ancestors, the nearest first. If an agent's
// client has started another agent's client, the latter is nearer.
func (f *Fleet) Caller(line []Process) (agent string) {
	for _, p := range line {
		if id := f.inProcess(p); id != "" {
			return id
		}
	}
	return ""
}
