package fleet

import (
	"cmp"
	"slices"
	"strings"

	"sm/alerts"
	"sm/transcript"
)

// Clients takes in the client's registry as it is now. Sessions that follow each
// other in one process belong to one agent. A client that has come to rest has ended
// its turn.
func (f *Fleet) Clients(cs []Client) (n Update) {
	defer func() { n = f.updates() }()
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
			f.clients[c.SessionID] = c // of several processes the one that said so last
		}
	}
	for _, c := range cs {
		switch p := processOf(c); {
		case !p.known(), !isUUID(c.SessionID), f.holders[p] == c.SessionID:
		case f.clients[c.SessionID].PID != c.PID:
		case f.settled:
			f.hold(p, c.SessionID, transcript.InstantOf(c.Updated))
		default: // records are given in the order of Settle; until then it is kept who held what
			f.holders[p] = c.SessionID
			f.early = append(f.early, c)
		}
	}
	for _, c := range cs {
		if c.Status == atPrompt && f.settled && f.clients[c.SessionID].PID == c.PID &&
			before[c.SessionID].Status != atPrompt {
			if id := f.agentIDIn(c.SessionID); id != "" {
				f.emit(alerts.Event{Kind: alerts.EventTurnEnd, Agent: alerts.AgentID(id), At: c.Updated})
			}
		}
	}
	return n
}

// hold notes that a process holds a session. If it held another one before, by
// /clear or a fork, the agent of that one goes on in this. The session may be new
// and without a transcript: it gets its record now.
func (f *Fleet) hold(p Process, id string, at transcript.Instant) {
	if old := f.recordOf(f.holders[p]); old != nil {
		switch a := f.currentAgent(f.sessions[id]); {
		case a != nil && a.process() == p: // its own signals came first
			f.adopt(a, old)
		default:
			a = f.agent(old.Agent)
			if rec := f.recordOf(id); rec != nil && rec.Agent == a.ID && a.Resumed != id && at != 0 && at < a.Since {
				return // an entry from before it went on
			}
			// The registry does not lag behind, but says when the client's status changed
			// last: the session did so after all that was heard of the one before.
			a.Resumed = id
			before := max(f.lastSign(a), a.Hooked)
			if before != 0 {
				at = max(at, before+1)
			}
			f.take(a, id, at, alerts.CauseSession)
		}
		old.PID = 0
		old.ProcStart = ""
		f.changed.record(old.SessionID)
	} else {
		f.resume(id, at)
	}
	rec := f.record(id, id)
	delete(f.holders, Process{rec.PID, rec.ProcStart}) // one process at a time
	rec.PID = p.PID
	rec.ProcStart = p.Start
	f.holders[p] = id
	f.sessions[id].gone = 0
	f.changed.record(id)
}

// resume notes that a new process holds a session that its agent had left, as after --resume: with no client in the session
// that came after it the agent goes back there.
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

// holdEarly goes through what the registry said before there were records.
func (f *Fleet) holdEarly() {
	clear(f.holders)
	for _, c := range f.early {
		f.hold(processOf(c), c.SessionID, transcript.InstantOf(c.Updated))
	}
	f.early = nil
}
