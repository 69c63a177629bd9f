package outbox

import (
	"maps"
	"slices"
)

// Counters count messages that have ended. They never fall, and are a plain value.
type Counters struct {
	// Ended counts by Carrier and by the place of the state in Outcomes. The carrier is
	// that of the newest offer.
	Ended [carriers][outcomes]uint64
}

// Count returns how many messages ended in a state after they had been offered to a
// carrier last; None stands for those that never were.
func (c Counters) Count(via Carrier, outcome State) uint64 {
	if via >= carriers || !outcome.Ended() || outcome >= states {
		return 0
	}
	return c.Ended[via][outcome-Confirmed]
}

func (c *Counters) add(via Carrier, outcome State) {
	if via >= carriers {
		via = None // of a later version
	}
	c.Ended[via][outcome-Confirmed]++
}

// Delta is what has changed since the last Take.
type Delta struct {
	Messages []Message // new or changed, in the order of Put
	Gone     []ID      // forgotten, sorted; none of them is among Messages
	Counters Counters  // as they stand
}

// Take returns what is to be stored now; ok is false if that is nothing. It is not told
// again: who cannot store it keeps it, or stores All.
func (q *Queue) Take() (d Delta, ok bool) {
	d.Messages = values(slices.SortedFunc(maps.Keys(q.changed), bySeq))
	d.Gone = slices.Sorted(maps.Keys(q.gone))
	d.Counters = q.counters
	clear(q.changed)
	clear(q.gone)
	return d, len(d.Messages)+len(d.Gone) > 0
}

// Restore goes on from stored messages, in any order, in place of all that the queue
// knows. Nobody is on hold. A message without an ID, or with that of another, is left
// out.
func (q *Queue) Restore(messages []Message, c Counters) {
	q.reset()
	q.counters = c
	all := make([]*Message, len(messages))
	for i := range messages {
		m := messages[i]
		for _, t := range m.stamps() {
			*t = stamp(*t)
		}
		all[i] = &m
	}
	slices.SortStableFunc(all, bySeq)
	for _, m := range all {
		if m.ID != "" && q.ids[m.ID] == nil {
			q.add(m)
		}
	}
}
