package outbox

import (
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"time"

	"sm/alerts"
)

// known returns the message with the same key or ref.
func (q *Queue) known(m *Message) *Message {
	for _, o := range q.order {
		if o.Key == m.Key && (m.Notice() || m.Ref != "" && o.Ref == m.Ref && o.To == m.To) {
			return o
		}
	}
	return nil
}

// name returns a free id. It is the same in every run, because replies and
// repeated texts are recognized by it.
func (q *Queue) name(m *Message) string {
	for n := 0; ; n++ {
		h := fnv.New32a()
		fmt.Fprintf(
			h,
			"%q %q %q %q %d %d %d",
			m.To,
			m.Key,
			m.Ref,
			m.Text,
			m.Made.UnixNano(),
			m.Seq,
			n,
		)
		id := fmt.Sprintf("%06x", h.Sum32()>>8)
		if q.ids[id] == nil {
			return id
		}
	}
}

// add appends a message, which must be the newest.
func (q *Queue) add(m *Message) {
	q.order = append(q.order, m)
	q.ids[m.ID] = m
}

// end ends a message, which must not have ended before.
func (q *Queue) end(m *Message, s State, at time.Time) {
	q.counters.Ended[m.Via][s-Confirmed]++
	m.State = s
	m.Ended = stamp(at)
	m.Calling = false
	m.Text = fmt.Sprintf("%.*s", endedLength, m.Text)
	m.Plain = ""
}

// open yields the messages that have not ended, in the order of Put.
func (q *Queue) open() iter.Seq[*Message] {
	return func(yield func(*Message) bool) {
		for _, m := range q.order {
			if !m.State.Ended() && !yield(m) {
				return
			}
		}
	}
}

// remove forgets messages.
func (q *Queue) remove(old func(*Message) bool) {
	q.order = slices.DeleteFunc(q.order, func(m *Message) bool {
		if !old(m) {
			return false
		}
		delete(q.ids, m.ID)
		return true
	})
}

// Find returns one message, without an ID if it is unknown.
func (q *Queue) Find(id string) (m Message) {
	if p := q.ids[id]; p != nil {
		m = *p
	}
	return m
}

// Of returns all known messages to one agent, or to all for "", in the order of Put.
func (q *Queue) Of(to string) (all []Message) {
	for _, m := range q.order {
		if to == "" || m.To == to {
			all = append(all, *m)
		}
	}
	return all
}

// Waiting returns the number of messages that have not ended.
func (q *Queue) Waiting() (n int) {
	for range q.open() {
		n++
	}
	return n
}

// Waits returns the agents that have waiting messages, sorted by id.
func (q *Queue) Waits() (agents []string) {
	for m := range q.open() {
		if m.State == Waiting {
			agents = append(agents, m.To)
		}
	}
	slices.Sort(agents)
	return slices.Compact(agents)
}

// HasWaiting reports whether a message to the agent is Waiting, even if it is
// held.
func (q *Queue) HasWaiting(to string) bool {
	return slices.Contains(q.Waits(), to)
}

// Counters returns the counters.
func (q *Queue) Counters() Counters { return q.counters }

// Counters count messages that have ended. They never decrease, and are a plain
// value.
type Counters struct {
	// Ended counts by Carrier of the newest offer, and by State relative to
	// Confirmed.
	Ended [Carriers][States - Confirmed]uint64
}

// Count returns the number of messages that ended in a state after their last
// offer by a carrier; None counts messages that were never offered.
func (c Counters) Count(via Carrier, outcome State) uint64 {
	return c.Ended[via][outcome-Confirmed]
}

// Take calls put with each message that has changed since the last Take, and
// with nil for each message that was forgotten. It reports whether there were
// changes.
func (q *Queue) Take(put func(id string, m *Message)) (any bool) {
	return alerts.Changes(q.ids, q.taken, put)
}

// Restore replaces all messages by stored ones, in any order.
func (q *Queue) Restore(messages []Message, c Counters) {
	*q = *New(q.options, q.held)
	q.counters = c
	for _, m := range slices.SortedStableFunc(slices.Values(messages), bySeq) {
		q.add(&m)
		q.taken[m.ID] = m
	}
}
