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
func (as *assigner) Clients(cs []Client) (n Update) {
	before := as.clients
	as.clients = make(map[string]Client, len(cs))
	cs = slices.SortedFunc(slices.Values(cs), func(a, b Client) int {
		return cmp.Or(
			a.Updated.Compare(b.Updated),
			cmp.Compare(a.PID, b.PID),
			strings.Compare(a.ProcStart, b.ProcStart),
		)
	})
	for _, c := range cs {
		if c.SessionID != "" {
			as.clients[c.SessionID] = c // of several processes the one that said so last
		}
	}
	for _, c := range cs {
		switch p := processOf(c); {
		case !p.known(), !isUUID(c.SessionID), as.holders[p] == c.SessionID:
		case as.clients[c.SessionID].PID != c.PID:
		case as.settled:
			n.add(as.hold(p, c.SessionID, transcript.InstantOf(c.Updated)))
		default: // records are given in the order of Settle; until then it is kept who held what
			as.holders[p] = c.SessionID
			as.early = append(as.early, c)
		}
	}
	for _, c := range cs {
		if c.Status == atPrompt && as.settled && as.clients[c.SessionID].PID == c.PID &&
			before[c.SessionID].Status != atPrompt {
			if id := as.agentIDIn(c.SessionID); id != "" {
				n.event(alerts.Event{Kind: alerts.EventTurnEnd, Agent: alerts.AgentID(id), At: c.Updated})
			}
		}
	}
	return n
}

// hold notes that a process holds a session. If it held another one before, by
// /clear or a fork, the agent of that one goes on in this. The session may be new
// and without a transcript: it gets its record now.
func (as *assigner) hold(p process, id string, at transcript.Instant) (n Update) {
	if old := as.records[as.holders[p]]; old != nil {
		switch a := as.agentIn(id); {
		case a != nil && a.process() == p: // its own signals came first
			n = as.adopt(a, old)
		default:
			a = as.agent(old.Agent)
			if rec := as.records[id]; rec != nil && rec.Agent == a.ID && a.Resumed != id && at != 0 && at < a.Since {
				return n // an entry from before it went on
			}
			// The registry does not lag behind, but says when the client's status changed
			// last: the session did so after all that was heard of the one before.
			a.Resumed = id
			before := max(as.lastSign(a), a.Hooked)
			if before != 0 {
				at = max(at, before+1)
			}
			n = as.take(a, id, at, alerts.CauseSession)
		}
		old.PID = 0
		old.ProcStart = ""
		as.changed.record(old.SessionID)
	} else {
		n = as.resume(id, at)
	}
	rec := as.record(id, id)
	delete(as.holders, process{rec.PID, rec.ProcStart}) // one process at a time
	rec.PID = p.pid
	rec.ProcStart = p.start
	as.holders[p] = id
	delete(as.gone, id)
	as.changed.record(id)
	return n
}

// resume notes that a new process holds a session that its agent had left, as after --resume: with no client in the session
// that came after it the agent goes back there.
func (as *assigner) resume(id string, at transcript.Instant) (n Update) {
	rec := as.records[id]
	if rec == nil {
		return n
	}
	a := as.agents[rec.Agent]
	if a == nil || a.Session == "" || a.Session == id || as.inClient(a) {
		return n
	}
	a.Resumed = id
	return as.take(a, id, max(at, as.lastSign(a)+1, a.Hooked+1), alerts.CauseSession)
}

// holdEarly goes through what the registry said before there were records.
func (as *assigner) holdEarly() (n Update) {
	clear(as.holders)
	for _, c := range as.early {
		n.add(as.hold(processOf(c), c.SessionID, transcript.InstantOf(c.Updated)))
	}
	as.early = nil
	return n
}
