package history

import (
	"cmp"
	"container/heap"
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
func (h *History) InOrder(ctx context.Context, rules []transcript.WindowRule, each func(t *Timeline, i int)) error {
	type start struct {
		log int32
		at  time.Time
	}
	var starts []start
	for i, p := range h.logs {
		if p.agent != "" && len(p.records) > 0 {
			starts = append(starts, start{int32(i), p.records[0].at.Time()})
		}
	}
	slices.SortStableFunc(starts, func(a, b start) int { return a.at.Compare(b.at) })
	var open openLogs
	for len(open)+len(starts) > 0 {
		if len(starts) > 0 && (len(open) == 0 || !starts[0].at.After(open[0].at)) {
			if err := ctx.Err(); err != nil {
				return err
			}
			p := &openLog{log: starts[0].log, at: starts[0].at}
			starts = starts[1:]
			h.unpack(p.log, &p.timeline)
			h.settle(p.timeline.Change, rules, p.timeline.Events)
			if len(p.timeline.Events) > 0 {
				heap.Push(&open, p)
			}
			continue
		}
		p := open[0]
		each(&p.timeline, p.next)
		if p.next++; p.next == len(p.timeline.Events) {
			heap.Pop(&open)
			continue
		}
		if at := p.timeline.Events[p.next].At; at.After(p.at) {
			p.at = at
		}
		heap.Fix(&open, 0)
	}
	return nil
}

// CompactsAt is the size in tokens at which the client is assumed to compact by itself, 0 when unknown or never.
func (t *Timeline) CompactsAt(ev *alerts.Event) int64 {
	if a := &t.asked; !a.known || a.window != ev.Window || a.model != ev.Model {
		at, _ := t.client.CompactsAt(
			new(clients.AutoCompact),
			ev.Window,
			ev.Model,
			t.Change.Session.Version,
		)
		*a = assumed{
			known:  true,
			window: ev.Window,
			model:  ev.Model,
			at:     at,
		}
	}
	return t.asked.at
}

// assumed is the newest answer of CompactsAt: most events of a session ask the same.
type assumed struct {
	known  bool
	window int64
	model  string
	at     int64
}

// openLog is a session whose first events have been given out, and whose others follow.
type openLog struct {
	log      int32
	timeline Timeline
	next     int
	at       time.Time // of the next event
}

// openLogs is a heap, the log with the oldest next event on top.
type openLogs []*openLog

func (o openLogs) Len() int { return len(o) }
func (o openLogs) Less(i, j int) bool {
	return cmp.Or(o[i].at.Compare(o[j].at), cmp.Compare(o[i].log, o[j].log)) < 0
}
func (o openLogs) Swap(i, j int) { o[i], o[j] = o[j], o[i] }
func (o *openLogs) Push(x any)   { *o = append(*o, x.(*openLog)) }

func (o *openLogs) Pop() any {
	last := (*o)[len(*o)-1]
	(*o)[len(*o)-1] = nil
	*o = (*o)[:len(*o)-1]
	return last
}
