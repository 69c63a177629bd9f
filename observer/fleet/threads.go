package fleet

import (
	"time"

	"sm/alerts"
	"sm/observer/fleet/threads"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// threadKept keeps the texts of a thread whose agent is not known yet.
func (f *Fleet) threadKept(x *file, heard []Heard) {
	if len(heard) > 0 && f.client(&x.Session).Threads && f.currentAgent(x.of) == nil {
		for _, h := range heard {
			f.threads.Keep(x.of.key, threads.Text{Text: h.Text, At: h.At})
		}
	}
}

// mayShow reports whether a thread may be the one that the user of its process
// sees. A thread without a transcript was started by the user, which is not
// possible during a turn, or is a subagent's, which starts only during one.
func (f *Fleet) mayShow(id string, in transcript.Holder) bool {
	if s := f.sessions[id]; s != nil && len(s.own) > 0 {
		return s.own[0].Session.Also().Parent == ""
	}
	a := f.agents[f.running[process{in.PID, in.Start}]]
	if a == nil {
		return true
	}
	s := f.sessions[a.Session]
	return s == nil || len(s.own) == 0 || !s.own[0].Session.InTurn
}

// Threads finds out which agents are in which threads of Codex now. What the environment of
// a client's process says of its agent is asked for once for each thread. The updates are in their order.
func (f *Fleet) Threads(now time.Time) (updates []Update) {
	if !f.settled {
		return nil
	}
	f.Clock(now) // there may be no record since the start
	f.threads.Note(f.clients, f.newest)
	for p, id := range f.threads.Present(f.mayShow) {
		if a := f.agents[f.running[process{p.PID, p.Start}]]; a != nil && a.Session == id {
			continue
		}
		var o hook.Origin
		if f.options.Origin != nil {
			o = f.options.Origin(p.PID)
		}
		o.PID = p.PID
		o.Start = p.Start
		a, own := f.resolve(id, o)
		if a == nil {
			continue
		}
		n := f.meet(a, &own)
		a.Resumed = id // whatever it was in before: that is where its client is
		n.add(f.take(a, id, f.newest, alerts.CauseSession))
		var late Update
		for _, h := range f.threads.Heard(id) {
			late.Heard = append(late.Heard, Heard{alerts.AgentID(a.ID), h.Text, h.At})
		}
		updates = append(updates, n, late)
	}
	f.nameThreads()
	return updates
}

// nameThreads gives open threads the names of the client's index as titles.
func (f *Fleet) nameThreads() {
	for id, c := range f.clients {
		s := f.sessions[id]
		if !c.Held || c.Name == "" || s == nil || len(s.own) == 0 {
			continue
		}

		x := s.own[0]
		if t := transcript.NewTitle(c.Name, transcript.TitleCustom); t != x.titleOf() {
			x.setTitle(t)
			f.changed.file(x.Cursor.Path)
		}
	}
}

// Thread is an open thread of Codex, and the process that has it open.
type Thread struct {
	ID   string
	Path string // of its transcript
	PID  int    // 0 where the system does not say
}

// Thread returns the thread of an agent. ok is false if it has none, if no process
// has it open, and for subagents: their process is the root's, which keeps the
// thread open after the subagent has finished. rests means that no turn is open
// and there was no activity for a while.
func (lv *liveness) Thread(agent alerts.AgentID, now time.Time) (t Thread, rests, ok bool) {
	key := string(agent)
	if a := lv.agents[key]; a != nil {
		key = a.Session
	}
	s := lv.sessions[key]
	c := lv.clients[key]
	if s == nil || len(s.own) == 0 || !c.Held || !lv.client(&s.own[0].Session).Threads {
		return t, false, false
	}
	x := s.own[0]
	if x.Session.Also().Parent != "" {
		return t, false, false
	}
	last := max(x.Session.Active, changedAt(&x.Cursor), lv.prompted[string(agent)])
	return Thread{s.id(), x.Cursor.Path, c.Holder.PID}, !x.Session.InTurn && now.Sub(last.Time()) >= silentFor, true
}
