package fleet

import (
	"maps"
	"slices"
	"time"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/claude/hook"
	"sm/transcript/clients"
)

// threads says which thread of Codex is the present one of a client. One process may have
// several open: those of its subagents, and for a while the one that its user has left.
type threads struct {
	*roster
	opened map[string]transcript.Instant // when a thread was first seen to be open, by session
}

// noteOpen takes in which threads are open.
func (th *threads) noteOpen() {
	maps.DeleteFunc(th.opened, func(id string, _ transcript.Instant) bool { return !th.clients[id].Held })
	for id, c := range th.clients {
		if _, known := th.opened[id]; c.Held && !known {
			th.opened[id] = th.newest
		}
	}
}

// byClient gives the present thread of each process that serves one terminal. Of a daemon,
// which has the threads of many, nobody can say.
func (th *threads) byClient() map[process]string {
	of := map[process]string{}
	for _, id := range slices.Sorted(maps.Keys(th.opened)) {
		p, own := th.holder(id)
		if own && th.fits(id, p) && (of[p] == "" || th.opened[id] >= th.opened[of[p]]) {
			of[p] = id // of those that were there already the newest: their ids begin with their time
		}
	}
	return of
}

func (th *threads) holder(id string) (p process, own bool) {
	h := th.clients[id].Holder
	p = process{h.PID, h.Start}
	return p, h.Own && p.known()
}

// fits says whether a thread may be the one that the user sees. A thread without a transcript
// was begun by the user, who cannot do that within a turn, or is a subagent's, which begins
// there alone.
func (th *threads) fits(id string, p process) bool {
	if s := th.sessions[id]; s != nil && len(s.own) > 0 {
		return s.own[0].Session.Also().Parent == ""
	}
	a := th.agents[th.running[p]]
	if a == nil {
		return true
	}
	s := th.sessions[a.Session]
	return s == nil || len(s.own) == 0 || !s.own[0].Session.InTurn
}

// Threads finds out which agents are in which threads of Codex now. What the environment of
// a client's process says of its agent is asked for once for each thread.
func (f *Fleet) Threads() (n Update) {
	if !f.settled {
		return n
	}
	f.noteOpen()
	for p, id := range f.byClient() {
		if a := f.agents[f.running[p]]; a != nil && a.Session == id {
			continue
		}
		var o hook.Origin
		if f.options.Origin != nil {
			o = f.options.Origin(p.pid)
		}
		o.PID, o.Start = p.pid, p.start
		a, own := f.resolve(id, o)
		if a == nil {
			continue
		}
		n.add(f.meet(a, &own))
		a.Resumed = id // whatever it was in before: that is where its client is
		n.add(f.take(a, id, f.newest, alerts.CauseSession))
	}
	return n
}

// Thread is an open thread of Codex, and the process that has it open.
type Thread struct {
	ID   string
	Path string // of its transcript
	PID  int    // 0 where the system does not tell
}

// Thread finds the thread that an agent is in; ok is false for one that is in none, or in one that nobody has open.
// rests says that no turn is under way, and that it has been silent for a while.
func (lv *liveness) Thread(agent alerts.AgentID, now time.Time) (t Thread, rests, ok bool) {
	key := string(agent)
	if a := lv.agents[key]; a != nil {
		key = a.Session
	}
	s, c := lv.sessions[key], lv.clients[key]
	if s == nil || len(s.own) == 0 || !c.Held || clients.Of(&s.own[0].Session) != clients.Codex {
		return t, false, false
	}
	x := s.own[0]
	last := max(x.Session.Active, changedAt(&x.Cursor), lv.prompted[string(agent)])
	return Thread{s.id(), x.Cursor.Path, c.Holder.PID}, !x.Session.InTurn && now.Sub(last.Time()) >= silentFor, true
}
