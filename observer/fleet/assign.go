package fleet

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// describe applies the description of an agent in a signal. Only the agent's
// own process reports its place; a later process does so once that process has
// ended.
func (f *Fleet) describe(a *agent, o *hook.Origin) {
	before := a.seen()
	if parent := f.Named(o.Parent); parent != a.ID {
		a.Parent = cmp.Or(parent, a.Parent)
	}
	a.Name = cmp.Or(o.Name, a.Name)
	a.Provider = cmp.Or(o.Provider, a.Provider)
	a.Project = cmp.Or(o.Project, a.Project)
	if !f.otherProcess(a, o) {
		if o.Pane != "" || o.PID != 0 && a.PID != 0 && o.PID != a.PID {
			a.Tmux = o.Tmux
			a.Server = o.Server
			a.Pane = o.Pane
		}
		if o.PID != 0 {
			f.runs(a, senderOf(o))
		}
	}
	if a.Label == "" { // the agent's name, else the beginning of its id
		a.Label = f.label(cmp.Or(a.Name, a.ID), cmp.Or(len(a.Name), labelLength))
	}
	if seen := a.seen(); seen != before {
		f.emit(seen)
	}
}

// Named returns the present id of the agent with an id: an agent that had the
// id of its session or pane may have got a name since.
func (f *Fleet) Named(id string) string {
	rec := f.recordOf(id)
	switch {
	case f.agents[id] != nil:
	case rec != nil:
		return rec.Agent
	case hook.IsTmuxAgent(id):
		for _, a := range f.agents {
			if hook.TmuxAgent(a.Tmux, a.Server, a.Pane) == id {
				return a.ID
			}
		}
	}
	return id
}

// take makes a session the present one of an agent: a new session, or an
// earlier session of the agent that was resumed. Late signals open nothing.
func (f *Fleet) take(a *agent, key string, at transcript.Instant, cause alerts.Cause) {
	if key == "" || a.Session == key {
		return
	}
	rec := f.recordOf(key)
	late := at < a.Since
	var other *agent // had the session before
	switch {
	case rec == nil: // a new session
		rec = f.record(key, key)
	case late:
		f.adopt(a, rec)
		return
	case rec.Agent == a.ID && a.Session != "" && a.Resumed != key:
		return // the agent has left this session
	default:
		other = f.agents[rec.Agent]
		f.leave(a, rec)
	}
	rec.Agent = a.ID
	f.changed.record(key)
	if late {
		return
	}
	before := f.lastSign(a)
	first := a.Session == "" && a.Since == 0
	f.continueIn(a, f.sessions[key])
	a.Present = Present{Session: key}
	a.recent = nil
	if other != nil && f.agents[other.ID] == nil {
		a.Present = other.Present
		a.recent = other.recent
		a.Window = other.Window
		if other.Hooked >= a.Hooked { // a has had no client, or an older one
			a.Reported = other.Reported
		}
	}
	a.Since = at
	f.changed.agent(a.ID)
	if first {
		return
	}
	ev := reset(a, at, cause)
	ev.Carried = a.Carried != 0 && at >= a.Carried && at <= a.Carried+carriedFor
	if started := f.sessionOf(a).Started; started != 0 { // its records may be older than the signal
		ev.At = min(at, max(started, before+1)).Time()
	}
	f.emit(ev)
	f.again(a)
}

// carriedFor is how long after the start of a client its first signal with the
// new session's id may come.
const carriedFor = transcript.Instant(time.Minute)

// continues makes the session with that key the present one of the agent that
// is in s, because the client's records link the two sessions. The process of
// the new session becomes the agent's.
func (f *Fleet) continues(s *session, key string, at transcript.Instant) {
	id, current := f.agentOf(s)
	if !current || key == s.key || !isUUID(key) {
		return
	}
	a := f.agent(id)
	if other := f.currentAgent(f.sessions[key]); other != nil && other != a {
		if other.ID != key { // it has its own name
			return
		}
		f.runs(a, Process{}) // merge sets the other's process
		f.merge(other, a)
	}
	a.Carried = at
	a.Resumed = key
	f.take(a, key, at, alerts.CauseSession)
}

// adopt gives an agent a session that it has left already, whose signals come
// late. A session of another agent stays with that agent.
func (f *Fleet) adopt(a *agent, rec *SessionRecord) {
	other := f.agents[rec.Agent]
	if rec.Agent == a.ID || rec.Agent != rec.SessionID ||
		other != nil && (other.Session != rec.SessionID || !f.same(a, other)) {
		return
	}
	first := a.Session != "" && len(f.recordsOf(a.ID)) < 2
	f.leave(a, rec)
	rec.Agent = a.ID
	f.changed.record(rec.SessionID)
	if first { // until now its present session seemed to be its first
		f.emit(reset(a, a.Since, alerts.CauseSession))
	}
}

// leave takes a session from its agent.
func (f *Fleet) leave(a *agent, rec *SessionRecord) {
	key := rec.SessionID
	other := f.agents[rec.Agent]
	switch {
	case other == nil:
		f.rename(key, a.ID)
	case other == a || other.Session != key:
	case f.same(a, other): // they were separate until a signal named a
		f.merge(other, a)
	default:
		other.Session = ""
		f.changed.agent(other.ID)
	}
}

// release separates an agent from the client of its present session. If the
// client runs, it becomes another agent, without the name.
func (f *Fleet) release(a *agent) {
	if a.Session == "" || a.Session == a.ID {
		return
	}
	f.changed.agent(a.ID)
	a.Named = false
	if !f.inClient(a) {
		f.runs(a, Process{}) // its next client may be in the same pane
		return
	}
	rec := f.recordOf(a.Session)
	rec.Agent = rec.SessionID
	f.changed.record(rec.SessionID)
	was := a.Agent
	a.Present = Present{}
	a.Reported = Reported{}
	a.Place = Place{}
	own := f.agent(rec.SessionID)
	f.release(own) // an older agent with that id is in another session by now
	own.Present = was.Present
	own.Reported = was.Reported
	own.Place = was.Place
	f.runs(own, own.Process)
	f.active[own.ID] = f.active[a.ID]
	delete(f.active, a.ID)
	f.out.Renamed = append(f.out.Renamed, Renamed{a.ID, own.ID})
	f.emit(a.seen())
}

// isLine reports whether a text is a single line of at most 128 bytes.
func isLine(s string) bool {
	return len(s) <= 128 && !strings.ContainsFunc(s, unicode.IsControl)
}

// isAgent reports whether a text may be an agent's id: one word of at most 128
// bytes.
func isAgent(id string) bool {
	return id != "" && len(id) <= 128 &&
		!strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// change makes the session that a hook names the present one of the agent.
func (f *Fleet) change(a *agent, p *hook.Payload, at transcript.Instant) {
	cause := alerts.CauseSession
	switch {
	case p.Event == hook.SessionEnd || p.Event == hook.Stop || p.Event == hook.Interrupt:
		// These hooks may come a moment after the next session has begun, or
		// from the older of two clients.
		other := f.currentAgent(f.sessions[p.SessionID])
		if a.Session != "" && at >= a.Since || other != nil && f.otherProcess(other, &p.SM) {
			return
		}
	case p.Event == hook.UserPromptSubmit && a.Session != p.SessionID && at > a.Since+lag &&
		a.Process.known() && a.Process == senderOf(&p.SM):
		a.Resumed = p.SessionID // its client is in this session, even if the change was missed
	case p.Event == hook.SessionStart && (p.Source == "resume" || p.Source == "fork"):
		// A fork names the old session; the next signal names the new one.
		a.Carried = max(a.Carried, at)
		if at >= a.Since && a.Session != p.SessionID {
			a.Resumed = p.SessionID
		}
		return
	case p.Event == hook.SessionStart && p.Source == "clear":
		cause = alerts.CauseClear
	}
	f.take(a, p.SessionID, at, cause)
}

// Clients applies the present entries of the client's registry. Consecutive
// sessions in one process belong to one agent. A client that has become idle
// has ended its turn.
func (f *Fleet) Clients(cs []Client) (n Update) {
	defer f.finish(&n)
	before := f.clients
	f.clients = make(map[string]Client, len(cs))
	cs = slices.SortedFunc(slices.Values(cs), func(a, b Client) int {
		return cmp.Or(
			a.Updated.Compare(b.Updated),
			cmp.Compare(a.PID, b.PID),
			strings.Compare(a.ProcStart, b.ProcStart),
		)
	})
	for _, c := range cs {
		if c.SessionID != "" {
			f.clients[c.SessionID] = c // of several processes the newest
		}
	}
	if !f.settled { // Settle creates the records of sessions
		return n
	}
	for _, c := range cs {
		f.hold(c)
	}
	for _, c := range cs {
		if ev, rests := f.rest(c); rests && f.clients[c.SessionID].PID == c.PID &&
			before[c.SessionID].Status != atPrompt {
			f.emit(ev)
		}
	}
	return n
}

// hold records that the process of a registry entry holds a session, if that is
// new. If the process held another session before, as with /clear or a fork,
// the agent of that session continues in this one. The session may be new and
// without a transcript: it gets its record now.
func (f *Fleet) hold(c Client) {
	p := processOf(c)
	id := c.SessionID
	if !p.known() || !isUUID(id) || f.holders[p] == id || f.clients[id].PID != c.PID {
		return
	}
	at := transcript.InstantOf(c.Updated)
	if old := f.recordOf(f.holders[p]); old == nil {
		f.resume(id, at)
	} else {
		if a := f.currentAgent(f.sessions[id]); a != nil &&
			(a.Process == p || a.Registered && a.PID == 0) {
			f.adopt(a, old) // the session's signals, or its registration, came first
		} else if !f.moveTo(f.agent(old.Agent), id, at) {
			return
		}
		old.PID = 0
		old.ProcStart = ""
		f.changed.record(old.SessionID)
	}
	rec := f.record(id, id)
	delete(f.holders, rec.process()) // one process at a time
	rec.PID = p.PID
	rec.ProcStart = p.Start
	f.holders[p] = id
	f.sessions[id].gone = 0
	f.changed.record(id)
}

// moveTo makes a session the present one of the agent whose process holds it,
// and reports whether it did. It ignores an entry that is older than the
// agent's present session.
func (f *Fleet) moveTo(a *agent, id string, at transcript.Instant) bool {
	if rec := f.recordOf(id); rec != nil && rec.Agent == a.ID && a.Resumed != id && at != 0 &&
		at < a.Since {
		return false
	}
	// The entry is current, but its time is that of the client's last change of
	// status. The process took up the session after all signals of the previous
	// one.
	if before := max(f.lastSign(a), a.Hooked); before != 0 {
		at = max(at, before+1)
	}
	a.Resumed = id
	f.take(a, id, at, alerts.CauseSession)
	return true
}

// resume records that a new process holds a session that its agent had left, as
// after --resume. If no client is in the agent's present session, the agent
// returns to the resumed one.
func (f *Fleet) resume(id string, at transcript.Instant) {
	rec := f.recordOf(id)
	if rec == nil {
		return
	}
	a := f.agents[rec.Agent]
	if a == nil || a.Session == "" || a.Session == id || f.inClient(a) {
		return
	}
	a.Resumed = id
	f.take(a, id, max(at, f.lastSign(a)+1, a.Hooked+1), alerts.CauseSession)
}
