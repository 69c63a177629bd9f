package fleet

import (
	"maps"
	"slices"
	"time"

	"sm/alerts"
	"sm/transcript"
)

// Activity tells which agents have begun or ceased to be at work, since the last call.
func (f *Fleet) Activity(now time.Time) (events []alerts.Event) {
	on := map[string]bool{}
	for r := range f.rows() {
		if f.live(&r, now) {
			on[f.seatOf(&r)] = true
		}
	}
	tell := func(id string, live bool) {
		events = append(events, alerts.Event{Kind: alerts.EventActive, Agent: alerts.AgentID(id), At: now, On: live})
	}
	for _, id := range slices.Sorted(maps.Keys(on)) {
		if !f.active[id] {
			tell(id, true)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(f.active)) {
		if !on[id] {
			tell(id, false)
		}
	}
	f.active = on
	return events
}

// live says whether the agent that sits there is at work, as views do: many are asked
// often, and few are.
func (f *Fleet) live(r *row, now time.Time) bool {
	last := transcript.Instant(0)
	if r.s != nil {
		if id, sits := f.agentOf(r.s); !sits || id == "" {
			return false
		}
		x := r.s.own[0]
		last = max(x.Session.Active, transcript.Instant(x.Cursor.Modified), transcript.Instant(-x.Cursor.Modified))
		if len(f.clients) > 0 && f.clients[r.s.key].PID != 0 {
			return true
		}
	}
	if a := r.of; a != nil {
		last = max(last, a.Spoke, a.Hooked)
		if r.s == nil && f.clients[a.Session].PID != 0 {
			return true
		}
	}
	return now.Sub(last.Time()) <= f.options.ActiveFor
}

// Seen are the events by which an engine knows who is whose parent.
func (f *Fleet) Seen() (events []alerts.Event) {
	for _, id := range slices.Sorted(maps.Keys(f.agents)) {
		if a := f.agents[id]; a.Parent != "" || a.Name != "" {
			events = append(events, f.seen(a))
		}
	}
	return events
}

// ReadUntil says up to when it is known what an agent has heard, for an offer of a time:
// the time of the newest record of its transcript, or for one that is at rest or has gone,
// when nothing more is to come, a moment before now. Any is false without a transcript.
//
// What SessionStart was answered clients write down with the next prompt, be it days later.
// Of an offer at that time nothing is known until there is a newer record.
func (f *Fleet) ReadUntil(agent alerts.AgentID, offered, now time.Time) (until time.Time, any bool) {
	id := string(agent)
	a := f.agents[id]
	if a != nil {
		id = a.Session
	}
	c := f.clients[id]
	gone := c.PID == 0 && (a == nil || a.PID == 0 || f.options.Alive == nil || !f.options.Alive(a.PID, a.Start))
	at := transcript.InstantOf(offered)
	starting := !gone && a != nil && a.Begun != 0 && at >= a.Begun && at <= a.Begun+lag
	s := f.sessions[id]
	if s == nil || len(s.own) == 0 {
		return until, starting
	}
	t := &s.own[0].Session
	starting = starting && t.Active <= at
	if gone || !starting && (c.Status == atPrompt || c.Status == "" && !t.InTurn) {
		return now.Add(-tailDelay), true
	}
	return t.Active.Time(), true
}

// tailDelay is how long a record may take from the transcript to here.
const tailDelay = 5 * time.Second

// Dropped counts the reports of the status line that said nothing any more.
func (f *Fleet) Dropped() uint64 { return f.dropped }
