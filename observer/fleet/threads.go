package fleet

import (
	"maps"
	"slices"
	"time"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

const (
	// maxKept is how many texts are kept of threads whose agents are not known
	// yet, and keptFor how long.
	maxKept = 1024
	keptFor = transcript.Instant(time.Minute)
)

// keepReceived keeps the texts that were received in a thread whose agent is
// not known yet: a new client's first prompt may be read before its process is
// found.
func (f *Fleet) keepReceived(x *file) {
	if !f.client(&x.Session).Threads || f.currentAgent(x.of) != nil {
		return
	}
	for _, h := range f.out.Received {
		h.Agent = x.of.key
		f.received = append(f.received, h)
	}
	f.received = f.received[max(0, len(f.received)-maxKept):]
}

// mayShow reports whether a thread may be the one that its process shows to the
// user. A thread without a transcript was started by the user, which is not
// possible during a turn, or is a subagent's, which starts only during a turn.
func (f *Fleet) mayShow(id string, in Process) bool {
	if x := f.transcript(id); x != nil {
		return x.Session.Details().Parent == ""
	}
	a := f.agents[f.running[in]]
	if a == nil {
		return true
	}
	x := f.transcript(a.Session)
	return x == nil || !x.Session.InTurn
}

// presentThreads returns the thread that each process of Codex with one
// terminal shows to its user: the newest one that it has open. Threads of a
// daemon, which serves several users, are omitted.
func (f *Fleet) presentThreads() map[Process]string {
	for id, c := range f.clients {
		if _, known := f.opened[id]; c.Held && !known {
			f.opened[id] = f.newest
		}
	}
	for id := range f.opened {
		if f.clients[id].Held {
			continue
		}
		delete(f.opened, id)
		if x := f.transcript(id); x != nil && x.Session.Details().Parent != "" {
			x.of.gone = f.newest // a subagent's thread ends with its client
		}
	}
	f.received = slices.DeleteFunc(
		f.received,
		func(h Received) bool { return h.At < f.newest-keptFor },
	)

	of := map[Process]string{}
	for _, id := range slices.Sorted(maps.Keys(f.opened)) {
		h := f.clients[id].Holder
		p := Process{h.PID, h.Start}
		if h.Own && p.known() && f.mayShow(id, p) &&
			(of[p] == "" || f.opened[id] >= f.opened[of[p]]) {
			of[p] = id // ids begin with their time, so the newest of the first threads wins
		}
	}
	return of
}

// Threads updates which agents are in which threads of Codex. The environment
// of a client's process contains its agent, and is read once for each thread.
func (f *Fleet) Threads(now time.Time) (updates []Update) {
	if !f.settled {
		return nil
	}
	f.Clock(now) // there may have been no record since the start
	for p, id := range f.presentThreads() {
		if a := f.agents[f.running[p]]; a != nil && a.Session == id {
			continue
		}
		var o hook.Origin
		if f.options.Origin != nil {
			o = f.options.Origin(p.PID)
		}
		o.PID = p.PID
		o.Start = p.Start
		if x := f.transcript(id); x != nil {
			o.Project = x.Session.CWD
		}
		a := f.signal(id, o)
		// No hook may have named the client yet.
		for _, client := range f.options.Clients {
			if client.Threads {
				a.Client = client.Client
			}
		}
		a.Resumed = id // the client is in this thread, whatever it was in before
		f.take(a, id, f.newest, alerts.CauseSession)
		var late Update
		f.received = slices.DeleteFunc(f.received, func(h Received) bool {
			if h.Agent != id {
				return false
			}
			late.Received = append(late.Received, Received{a.ID, h.Text, h.At})
			return true
		})
		updates = append(updates, f.out, late)
		f.out = Update{}
	}
	for id, c := range f.clients { // the titles of open threads are the names in the client's index
		x := f.transcript(id)
		if !c.Held || c.Name == "" || x == nil {
			continue
		}
		if t := transcript.NewTitle(c.Name, transcript.TitleCustom); t != x.Title {
			x.Title = t
			f.changed.file(x.Cursor.Path)
		}
	}
	return updates
}

// Thread is an open thread of Codex, with the process that has it open.
type Thread struct {
	ID   string
	Path string // of its transcript
	PID  int    // 0 if unknown
}

// Thread returns the thread of an agent. ok is false if the agent has none, if
// no process has it open, and for subagents: their process is the root's, which
// keeps the thread open after the subagent has finished. rests means that no
// turn is open and there was no activity for silentFor.
func (f *Fleet) Thread(agent string, now time.Time) (t Thread, rests, ok bool) {
	a := f.orSession(agent)
	x := f.transcript(a.Session)
	c := f.clients[a.Session]
	if x == nil || !c.Held || !f.client(&x.Session).Threads || x.Session.Details().Parent != "" {
		return t, false, false
	}
	last := max(x.Session.Active, changedAt(&x.Cursor), a.Prompted)
	t = Thread{x.of.id(), x.Cursor.Path, c.Holder.PID}
	return t, !x.Session.InTurn && now.Sub(last.Time()) >= silentFor, true
}
