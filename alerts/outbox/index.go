package outbox

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"sm/alerts"
)

// index has all messages, and finds them by what they are known by. It notes what is to be stored.
type index struct {
	order  []*Message // all, by Seq; so are the lists below
	ids    map[ID]*Message
	keys   map[alerts.Key]*Message
	agents byAgent
	open   byAgent // those that have not ended

	counters Counters
	newest   time.Time // of all stamps, or later
	forget   time.Time // the first Ended, or earlier; zero for none
	changed  map[*Message]struct{}
	gone     map[ID]struct{}
}

// byAgent are messages by the agents that they are to.
type byAgent map[alerts.AgentID][]*Message

// reset forgets all messages.
func (x *index) reset() {
	x.order, x.newest, x.forget = nil, time.Time{}, time.Time{}
	x.ids, x.keys = map[ID]*Message{}, map[alerts.Key]*Message{}
	x.agents, x.open = byAgent{}, byAgent{}
	x.changed, x.gone = map[*Message]struct{}{}, map[ID]struct{}{}
}

// known finds the message that was put before under the same name.
func (x *index) known(m *Message) *Message {
	if m.Notice() {
		return x.keys[m.Key]
	}
	for _, o := range x.agents[m.To] {
		if m.Ref != "" && o.Ref == m.Ref && !o.Notice() {
			return o
		}
	}
	return nil
}

// name makes an id that is free: the same in every run, since replies and repeats are
// recognised by it.
func (x *index) name(m *Message) ID {
	for n := 0; ; n++ {
		h := fnv.New64a()
		fmt.Fprintf(h, "%q %q %q %q %d %d %d", m.To, m.Key, m.Ref, m.Text, m.Made.UnixNano(), m.Seq, n)
		sum := h.Sum64()
		id := ID(fmt.Sprintf("%06x", (sum^sum>>24^sum>>48)&0xffffff))
		if x.ids[id] == nil {
			return id
		}
	}
}

// add takes a message that is newer than all others into the lists.
func (x *index) add(m *Message) {
	x.order = append(x.order, m)
	x.ids[m.ID] = m
	if m.Notice() {
		x.keys[m.Key] = m
	}
	x.agents[m.To] = append(x.agents[m.To], m)
	if !m.State.Ended() {
		x.open[m.To] = append(x.open[m.To], m)
	}
	x.remember(m)
	for _, t := range m.stamps() {
		x.seen(*t)
	}
}

// remember notes when a message is to be forgotten, if it has ended.
func (x *index) remember(m *Message) {
	if m.State.Ended() && (x.forget.IsZero() || m.Ended.Before(x.forget)) {
		x.forget = m.Ended
	}
}

// seen notes a stamp.
func (x *index) seen(t time.Time) {
	if t.After(x.newest) {
		x.newest = t
	}
}

// touch notes that a message has changed.
func (x *index) touch(m *Message) { x.changed[m] = struct{}{} }

// rekey gives the notices about an agent the keys that the engine knows them by now, so
// that another who gets the old id is not taken for it.
func (x *index) rekey(from, to alerts.AgentID) {
	for _, m := range x.order {
		if !m.Notice() || m.Key.Agent != from {
			continue
		}
		key := m.Key
		key.Agent = to
		if x.keys[key] != nil {
			continue // it has said the same before
		}
		delete(x.keys, m.Key)
		m.Key = key
		x.keys[key] = m
		x.touch(m)
	}
}

// end ends a message, which must not have ended before.
func (x *index) end(m *Message, s State, at time.Time) {
	x.counters.add(m.Via, s)
	m.State, m.Ended, m.Calling = s, stamp(at), false
	m.Text, m.Plain = strings.Clone(cut(m.Text, endedLength)), "" // lets go of the rest
	trim(x.open, m.To, func(o *Message) bool { return o == m })
	x.remember(m)
	x.seen(m.Ended)
	x.touch(m)
}

// remove forgets messages.
func (x *index) remove(old func(*Message) bool) {
	agents := map[alerts.AgentID]struct{}{}
	x.forget = time.Time{}
	for _, m := range x.order {
		if !old(m) {
			x.remember(m)
			continue
		}
		delete(x.ids, m.ID)
		delete(x.changed, m)
		x.gone[m.ID] = struct{}{}
		agents[m.To] = struct{}{}
		if m.Notice() {
			delete(x.keys, m.Key)
		}
	}
	x.order = slices.DeleteFunc(x.order, old)
	for to := range agents {
		trim(x.agents, to, old)
		trim(x.open, to, old)
	}
}

// setClock finds the clock set back. Each stamp is looked at alone, so that what is done
// does not depend on those that have been forgotten.
func (x *index) setClock(now time.Time) {
	limit := now.Add(skew)
	if !x.newest.After(limit) {
		return
	}
	x.newest, x.forget = time.Time{}, time.Time{}
	for _, m := range x.order {
		for _, t := range m.stamps() {
			if t.After(limit) {
				*t = stamp(now)
				x.touch(m)
			}
			x.seen(*t)
		}
		x.remember(m)
	}
}

// Find returns one message.
func (x *index) Find(id ID) (Message, bool) {
	if m := x.ids[id]; m != nil {
		return *m, true
	}
	return Message{}, false
}

// Of returns all known messages to one agent, in the order of Put.
func (x *index) Of(to alerts.AgentID) []Message { return values(x.agents[to]) }

// All returns all known messages, in the order of Put.
func (x *index) All() []Message { return values(x.order) }

// Waiting returns how many messages have not ended: those that wait, and those that
// were offered.
func (x *index) Waiting() int {
	n := 0
	for to := range x.open {
		n += x.WaitingFor(to)
	}
	return n
}

// WaitingFor returns how many of them are to one agent.
func (x *index) WaitingFor(to alerts.AgentID) int { return len(x.open[to]) }

// Waits lists the agents for whom a message waits, by id.
func (x *index) Waits() (agents []alerts.AgentID) {
	for to := range x.open {
		if x.HasWaiting(to) {
			agents = append(agents, to)
		}
	}
	slices.Sort(agents)
	return agents
}

// HasWaiting says whether a message to the agent waits to be offered, be it on hold or
// not.
func (x *index) HasWaiting(to alerts.AgentID) bool {
	return slices.ContainsFunc(x.open[to], func(m *Message) bool { return m.State == Waiting })
}

// sends counts those to an agent that have not ended.
func (x *index) sends(to alerts.AgentID) int {
	n := 0
	for _, m := range x.open[to] {
		if !m.Notice() && !m.Unmetered {
			n++
		}
	}
	return n
}

// Counters returns what has been counted so far.
func (x *index) Counters() Counters { return x.counters }
