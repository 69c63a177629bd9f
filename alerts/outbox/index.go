package outbox

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"sm/alerts"
)

// byAgent holds messages by recipient.
type byAgent map[alerts.AgentID][]*Message

// reset forgets all messages.
func (q *Queue) reset() {
	q.order = nil
	q.ids = map[ID]*Message{}
	q.keys = map[alerts.Key]*Message{}
	q.agents = byAgent{}
	q.open = byAgent{}
	q.newest = time.Time{}
	q.forget = time.Time{}
	q.changed = map[*Message]struct{}{}
	q.gone = map[ID]struct{}{}
	q.held = map[alerts.AgentID]struct{}{}
}

// known finds the message that was put before under the same name.
func (q *Queue) known(m *Message) *Message {
	if m.Notice() {
		return q.keys[m.Key]
	}
	for _, o := range q.agents[m.To] {
		if m.Ref != "" && o.Ref == m.Ref && !o.Notice() {
			return o
		}
	}
	return nil
}

// name makes an id that is free: the same in every run, since replies and repeats are
// recognised by it.
func (q *Queue) name(m *Message) ID {
	for n := 0; ; n++ {
		h := fnv.New64a()
		fmt.Fprintf(h, "%q %q %q %q %d %d %d", m.To, m.Key, m.Ref, m.Text, m.Made.UnixNano(), m.Seq, n)
		sum := h.Sum64()
		id := ID(fmt.Sprintf("%06x", (sum^sum>>24^sum>>48)&0xffffff))
		if q.ids[id] == nil {
			return id
		}
	}
}

// add takes a message that is newer than all others into the lists.
func (q *Queue) add(m *Message) {
	q.order = append(q.order, m)
	q.ids[m.ID] = m
	if m.Notice() {
		q.keys[m.Key] = m
	}
	q.agents[m.To] = append(q.agents[m.To], m)
	if !m.State.Ended() {
		q.open[m.To] = append(q.open[m.To], m)
	}
	q.remember(m)
	for _, t := range m.stamps() {
		q.seen(*t)
	}
}

// remember notes when a message is to be forgotten, if it has ended.
func (q *Queue) remember(m *Message) {
	if m.State.Ended() && (q.forget.IsZero() || m.Ended.Before(q.forget)) {
		q.forget = m.Ended
	}
}

// seen notes a stamp.
func (q *Queue) seen(t time.Time) {
	if t.After(q.newest) {
		q.newest = t
	}
}

// touch notes that a message has changed.
func (q *Queue) touch(m *Message) { q.changed[m] = struct{}{} }

// rekey gives the notices about an agent the keys that the engine knows them by now, so
// that another who gets the old id is not taken for it.
func (q *Queue) rekey(from, to alerts.AgentID) {
	for _, m := range q.order {
		if !m.Notice() || m.Key.Agent != from {
			continue
		}
		key := m.Key
		key.Agent = to
		if q.keys[key] != nil {
			continue // it has said the same before
		}
		delete(q.keys, m.Key)
		m.Key = key
		q.keys[key] = m
		q.touch(m)
	}
}

// end ends a message, which must not have ended before.
func (q *Queue) end(m *Message, s State, at time.Time) {
	q.counters.add(m.Via, s)
	m.State = s
	m.Ended = stamp(at)
	m.Calling = false
	m.Text, m.Plain = strings.Clone(cut(m.Text, endedLength)), "" // lets go of the rest
	trim(q.open, m.To, func(o *Message) bool { return o == m })
	q.remember(m)
	q.seen(m.Ended)
	q.touch(m)
}

// remove forgets messages.
func (q *Queue) remove(old func(*Message) bool) {
	agents := map[alerts.AgentID]struct{}{}
	q.forget = time.Time{}
	for _, m := range q.order {
		if !old(m) {
			q.remember(m)
			continue
		}
		delete(q.ids, m.ID)
		delete(q.changed, m)
		q.gone[m.ID] = struct{}{}
		agents[m.To] = struct{}{}
		if m.Notice() {
			delete(q.keys, m.Key)
		}
	}
	q.order = slices.DeleteFunc(q.order, old)
	for to := range agents {
		trim(q.agents, to, old)
		trim(q.open, to, old)
	}
}

// setClock finds the clock set back. Each stamp is looked at alone, so that what is done
// does not depend on those that have been forgotten.
func (q *Queue) setClock(now time.Time) {
	limit := now.Add(skew)
	if !q.newest.After(limit) {
		return
	}
	q.newest = time.Time{}
	q.forget = time.Time{}
	for _, m := range q.order {
		for _, t := range m.stamps() {
			if t.After(limit) {
				*t = stamp(now)
				q.touch(m)
			}
			q.seen(*t)
		}
		q.remember(m)
	}
}

// Find returns one message.
func (q *Queue) Find(id ID) (Message, bool) {
	if m := q.ids[id]; m != nil {
		return *m, true
	}
	return Message{}, false
}

// Of returns all known messages to one agent, in the order of Put.
func (q *Queue) Of(to alerts.AgentID) []Message { return values(q.agents[to]) }

// All returns all known messages, in the order of Put.
func (q *Queue) All() []Message { return values(q.order) }

// Waiting returns how many messages have not ended: those that wait, and those that
// were offered.
func (q *Queue) Waiting() int {
	n := 0
	for to := range q.open {
		n += q.WaitingFor(to)
	}
	return n
}

// WaitingFor returns how many of them are to one agent.
func (q *Queue) WaitingFor(to alerts.AgentID) int { return len(q.open[to]) }

// Waits lists the agents for whom a message waits, by id.
func (q *Queue) Waits() (agents []alerts.AgentID) {
	for to := range q.open {
		if q.HasWaiting(to) {
			agents = append(agents, to)
		}
	}
	slices.Sort(agents)
	return agents
}

// HasWaiting says whether a message to the agent waits to be offered, be it on hold or
// not.
func (q *Queue) HasWaiting(to alerts.AgentID) bool {
	return slices.ContainsFunc(q.open[to], func(m *Message) bool { return m.State == Waiting })
}

// sends counts those to an agent that have not ended.
func (q *Queue) sends(to alerts.AgentID) int {
	n := 0
	for _, m := range q.open[to] {
		if !m.Notice() && !m.Unmetered {
			n++
		}
	}
	return n
}

// Counters returns what has been counted so far.
func (q *Queue) Counters() Counters { return q.counters }
