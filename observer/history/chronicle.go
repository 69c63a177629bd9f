package history

import (
	"cmp"
	"context"
	"slices"
	"time"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/clients"
)

// InOrder calls each for the events of all sessions by time, as an observer would
// receive them live: what it learns in one session applies to the others from then
// on. An event without a time follows the one before it in its transcript. each
// gets a session and the index of an event; only overlapping sessions are unpacked
// at a time.
func (h *History) InOrder(
	ctx context.Context,
	rules []transcript.WindowRule,
	each func(t *Timeline, i int),
) error {
	var starts, open []*openLog
	for i, p := range h.logs {
		if p.agent != "" && len(p.records) > 0 {
			starts = append(starts, &openLog{log: int32(i), at: p.records[0].at.Time()})
		}
	}
	slices.SortFunc(starts, (*openLog).compare)
	insert := func(p *openLog) {
		i, _ := slices.BinarySearchFunc(open, p, (*openLog).compare)
		open = slices.Insert(open, i, p)
	}
	for len(open)+len(starts) > 0 {
		if len(starts) > 0 && (len(open) == 0 || !starts[0].at.After(open[0].at)) {
			if err := ctx.Err(); err != nil {
				return err
			}
			p := starts[0]
			starts[0] = nil
			starts = starts[1:]
			h.unpack(p.log, &p.timeline)
			h.settle(p.timeline.Change, rules, p.timeline.Events)
			if len(p.timeline.Events) > 0 {
				insert(p)
			}
			continue
		}
		p := open[0]
		open = slices.Delete(open, 0, 1)
		each(&p.timeline, p.next)
		if p.next++; p.next < len(p.timeline.Events) {
			if at := p.timeline.Events[p.next].At; at.After(p.at) {
				p.at = at
			}
			insert(p)
		}
	}
	return nil
}

// CompactsAt is the size in tokens at which the client is assumed to compact by itself, 0 when unknown or never.
func (t *Timeline) CompactsAt(ev *alerts.Event) int64 {
	if ev.Window != t.asked.Window ||
		ev.Model != t.asked.Model { // most events of a session ask the same
		t.asked = *ev
		t.compactsAt, _ = t.client.CompactsAt(
			new(clients.AutoCompact),
			ev.Window,
			ev.Model,
			t.Change.Session.Version,
		)
	}
	return t.compactsAt
}

// openLog is a session with the event that comes next.
type openLog struct {
	log      int32
	timeline Timeline
	next     int
	at       time.Time // of the next event
}

// compare orders logs by their next event.
func (p *openLog) compare(q *openLog) int {
	return cmp.Or(p.at.Compare(q.at), cmp.Compare(p.log, q.log))
}
