package fleet

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"sm/alerts"
	"sm/observer/fleet/crosscheck"
	"sm/transcript"
)

// Activity returns the agents that started or stopped working since the last call.
// Of those known only by their transcript it takes the newest atWorkMost.
func (lv *liveness) Activity(now time.Time) (events []alerts.Event) {
	on := lv.atWork(now)
	report := func(id string, live bool) {
		events = append(events, alerts.Event{
			Kind:  alerts.EventActive,
			Agent: alerts.AgentID(id),
			At:    now,
			On:    live,
		})
	}
	for _, id := range slices.Sorted(maps.Keys(on)) {
		if !lv.active[id] {
			report(id, true)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(lv.active)) {
		if !on[id] {
			report(id, false)
		}
	}
	lv.active = on
	return events
}

// atWorkMost bounds for how many sessions it is believed that they are at work only since
// their transcripts are fresh. Of a restored backup all are, and what is kept of an agent at
// work takes several times the memory of a session at rest.
const atWorkMost = 2000

// atWork finds the agents at work.
func (lv *liveness) atWork(now time.Time) map[string]bool {
	on := map[string]bool{}
	var others newest
	for r := range lv.rows() {
		known := r.of != nil || len(lv.clients) > 0 && lv.clients[r.session()].Runs()
		switch {
		case !known && !others.room(lastWritten(r.s.own[0])): // of very many most end here
		case !lv.live(&r, now):
		case known:
			on[lv.agentID(&r)] = true
		default:
			others.add(silent{lastWritten(r.s.own[0]), lv.agentID(&r)})
		}
	}
	others.cut()
	for _, s := range others.list {
		on[s.id] = true
	}
	return on
}

// silent is a session that is known from its transcript alone.
type silent struct {
	last transcript.Instant
	id   string
}

// newest keeps the atWorkMost that wrote last; of equal ones the first by id. It holds up
// to twice as many, so that to sort them all is not needed.
type newest struct {
	list []silent
	from transcript.Instant // what wrote before it has no room, once there are enough
}

func (n *newest) room(last transcript.Instant) bool { return n.from == 0 || last >= n.from }

func (n *newest) add(s silent) {
	if n.list = append(n.list, s); len(n.list) == 2*atWorkMost {
		n.cut()
	}
}

func (n *newest) cut() {
	if len(n.list) <= atWorkMost {
		return
	}
	slices.SortFunc(n.list, func(a, b silent) int {
		return cmp.Or(cmp.Compare(b.last, a.last), cmp.Compare(a.id, b.id))
	})
	n.list = n.list[:atWorkMost]
	n.from = n.list[atWorkMost-1].last
}

// live reports whether the agent of a row is working, as in views. It is called
// often, for many agents of which few are working.
func (lv *liveness) live(r *row, now time.Time) bool {
	runs := len(lv.clients) > 0 && lv.clients[r.session()].Runs()
	if !runs && (!lv.lately(r, now) || lv.ended(r)) {
		return false
	}
	if r.s == nil {
		return true
	}
	id, current := lv.agentOf(r.s)
	return current && id != ""
}

// lately reports whether a row had activity within ActiveFor.
func (lv *liveness) lately(r *row, now time.Time) bool {
	return now.Sub(r.last().Time()) <= lv.options.ActiveFor
}

// WereAtWork sets the agents that were working before a restart, so that Activity
// reports those that stopped.
func (lv *liveness) WereAtWork(ids []alerts.AgentID) {
	for _, id := range ids {
		lv.active[string(id)] = true
	}
}

// Resting gives the end of the turn of all clients that wait at their prompt.
func (lv *liveness) Resting(now time.Time) (events []alerts.Event) {
	for _, id := range slices.Sorted(maps.Keys(lv.clients)) {
		c := lv.clients[id]
		agent := lv.agentIDIn(id)
		if c.Status != atPrompt || agent == "" {
			continue
		}
		at := c.Updated
		if at.IsZero() {
			at = now
		}
		events = append(events, alerts.Event{Kind: alerts.EventTurnEnd, Agent: alerts.AgentID(agent), At: at})
	}
	return events
}

// ReadUntil says up to when it is known what an agent has heard, for an offer by which a
// hook was answered at a time, zero for another: the time of the newest record of its
// transcript, or for one that is at rest, has gone or has cleared its context, when nothing
// more is to come, a moment before now. Any is false without a transcript.
//
// What SessionStart was answered clients write down with the next prompt, be it days later.
// Of an answer at that time nothing is known until there is a newer record.
func (lv *liveness) ReadUntil(agent alerts.AgentID, answered, now time.Time) (until time.Time, any bool) {
	id := string(agent)
	a := lv.agents[id]
	if a != nil {
		id = a.Session
	}
	c := lv.clients[id]
	gone := !c.Runs() && (a == nil || a.PID == 0 || lv.options.Alive == nil || !lv.options.Alive(a.PID, a.Start))
	at := transcript.InstantOf(answered)
	starting := !gone && a != nil && a.Begun != 0 && at >= a.Begun && at <= a.Begun+crosscheck.Lag
	s := lv.sessions[id]
	if s == nil || len(s.own) == 0 {
		if !starting && a != nil && lv.hasWritten(a) { // and will again, with the next prompt
			return now.Add(-tailDelay), true
		}
		return until, starting
	}
	t := &s.own[0].Session
	starting = starting && t.Active <= at
	if gone || !starting && (c.Status == atPrompt || c.Status == "" && !t.InTurn) {
		return now.Add(-tailDelay), true
	}
	return earlier(t.Active.Time(), now.Add(-tailDelay)), true // stamps of the future prove nothing
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// tailDelay is how long a record may take from the transcript to here.
const tailDelay = 5 * time.Second

// liveness decides which agents are working, idle or ended.
type liveness struct {
	*finder
	active map[string]bool // as last reported to the engine, by agent
}

// runsNow reports whether the client's registry has a process with the session.
func (lv *liveness) runsNow(r *row) bool {
	if r.s != nil {
		return lv.clients[r.s.key].Runs()
	}
	return lv.clients[r.of.Session].Runs()
}

// waits reports whether a client waits for a person, and the reason if known: by
// its registry or a hook, whichever is newer. A record newer than the hook shows
// that the client went on.
func (lv *liveness) waits(r *row) (reason string, waits bool) {
	c := lv.clients[r.session()]
	if a := r.of; a != nil && a.Asks != "" && transcript.InstantOf(c.Updated) <= a.Asked &&
		(r.s == nil || r.s.own[0].Session.Active <= a.Asked) {
		return a.Asks, true
	}
	return c.Waiting, c.Status == "waiting"
}

// ended reports whether the client of a row that is not in the registry has ended,
// without activity of the session since. Records may be stamped a moment later
// than the client's last hook.
func (lv *liveness) ended(r *row) bool {
	at := lv.gone[r.session()]
	heard := transcript.Instant(0)
	if a := r.of; a != nil {
		at = max(at, a.Ended)
		heard = max(a.Hooked, a.Spoke)
	}
	if at == 0 {
		return false
	}
	if r.s != nil {
		x := r.s.own[0]
		wrote := x.Session.Active
		if wrote == 0 { // records without stamps
			wrote = max(transcript.Instant(x.Cursor.Modified), transcript.Instant(-x.Cursor.Modified))
		}
		heard = max(heard, wrote-crosscheck.Lag)
	}
	return heard <= at
}

// Bury looks whose process has ended without a word, as after a kill, and reports whether
// there is any. It looks at those alone that were heard of lately and that the registry
// does not list: its entries are known to run.
func (lv *liveness) Bury(now time.Time) (news bool) {
	if lv.options.Alive == nil || !lv.settled {
		return false
	}
	at := transcript.InstantOf(now)
	for _, a := range lv.agents {
		r := row{of: a}
		if s := lv.sessions[a.Session]; s != nil && len(s.own) > 0 {
			r.s = s
		}
		if a.Runs && lv.unheld(&r, now) && !lv.alive(a.PID, a.Start) {
			a.Runs = false
			a.Ended = at
			news = true
			lv.changed.agent(a.ID)
		}
	}
	for p, key := range lv.holders {
		s := lv.sessions[key]
		if s == nil || len(s.own) == 0 || lv.gone[key] != 0 {
			continue
		}
		r := row{s: s, of: lv.currentAgent(s)}
		if r.of != nil && r.of.Runs { // in another process, according to its hooks
			continue
		}
		if lv.unheld(&r, now) && !lv.alive(p.pid, p.start) {
			lv.gone[key] = at
			news = true
		}
	}
	return news
}

// unheld reports whether a row counts as working although it is not in the
// registry.
func (lv *liveness) unheld(r *row, now time.Time) bool {
	key := r.session()
	return key != "" && !lv.clients[key].Runs() && lv.lately(r, now) && !lv.ended(r)
}
