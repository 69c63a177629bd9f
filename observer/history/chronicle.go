package history

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// InOrder calls each for the events of all sessions by time, as an observer
// would receive them live, so that what an observer learns in one session
// applies to the others from then on. An event without a time follows the
// previous one in its transcript. each gets a session and the index of an
// event. Only overlapping sessions are unpacked at the same time.
func (h *History) InOrder(ctx context.Context, each func(t *Timeline, i int)) error {
	var open []*openLog
	for i, p := range h.logs {
		if p.agent != "" && len(p.records) > 0 {
			open = append(open, &openLog{log: p, number: i, at: p.records[0].at.Time()})
		}
	}
	slices.SortFunc(open, (*openLog).compare)
	for len(open) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := open[0]
		open = open[1:]
		if p.timeline.Change == nil {
			h.unpack(p.log, &p.timeline)
		}
		for p.next < len(p.timeline.Events) {
			if at := p.timeline.Events[p.next].At; at.After(p.at) {
				p.at = at
			}
			if len(open) > 0 && p.compare(open[0]) > 0 {
				i, _ := slices.BinarySearchFunc(open, p, (*openLog).compare)
				open = slices.Insert(open, i, p)
				break
			}
			each(&p.timeline, p.next)
			p.next++
		}
	}
	return nil
}

// openLog is a session with its next event.
type openLog struct {
	log      *log
	number   int
	timeline Timeline
	next     int
	at       time.Time // of the next event
}

// compare orders logs by their next event.
func (p *openLog) compare(q *openLog) int {
	return cmp.Or(p.at.Compare(q.at), cmp.Compare(p.number, q.number))
}
