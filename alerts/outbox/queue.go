package outbox

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"sm/alerts"
)

// Queue holds messages. It is for one goroutine at a time. All that it returns are
// copies.
type Queue struct {
	options Options

	order   []*Message // all, by Seq; so are the lists below
	ids     map[ID]*Message
	keys    map[alerts.Key]*Message
	refs    map[reference][]*Message // more than one only after Rename
	agents  map[alerts.AgentID]*box
	senders map[string][]*Message // sends, by From
	held    map[alerts.AgentID]struct{}

	counters Counters
	newest   time.Time // of all stamps, or later
	forget   time.Time // the first Ended, or earlier; zero for none
	changed  map[*Message]struct{}
	gone     map[ID]struct{}
}

// reference is what a send is known by besides its ID.
type reference struct {
	to  alerts.AgentID
	ref string
}

// box has the messages to one agent, by Seq.
type box struct {
	all  []*Message
	open []*Message // those that have not ended
}

// New makes a queue that knows no message.
func New(o Options) *Queue {
	q := &Queue{held: map[alerts.AgentID]struct{}{}}
	q.Configure(o)
	q.reset()
	return q
}

// reset forgets all messages.
func (q *Queue) reset() {
	q.order, q.newest, q.forget = nil, time.Time{}, time.Time{}
	q.ids, q.keys, q.refs = map[ID]*Message{}, map[alerts.Key]*Message{}, map[reference][]*Message{}
	q.agents, q.senders = map[alerts.AgentID]*box{}, map[string][]*Message{}
	q.changed, q.gone = map[*Message]struct{}{}, map[ID]struct{}{}
}

// Put accepts a message: To, Key, Ref, From, Mode, Unmetered, Text, OwnWords and Plain are
// the caller's, the rest is set here. If the notice's Key is known, or the send's Ref for this To, nothing
// changes, and the message that exists is returned, whatever has become of it.
//
// The errors are ErrText, ErrNobody, ErrEmpty, ErrTooLong, and for sends ErrFull and
// ErrRate.
func (q *Queue) Put(m Message, now time.Time) (Message, error) {
	if known := q.known(&m); known != nil {
		return *known, nil
	}
	if err := q.options.check(&m); err != nil {
		return Message{}, err
	}
	if !m.Notice() && !m.Unmetered {
		if err := q.admit(&m, now); err != nil {
			return Message{}, err
		}
	}
	p := &Message{
		Seq: 1, Key: m.Key, Ref: m.Ref, To: m.To, From: m.From, Mode: min(m.Mode, alerts.Urgent), Unmetered: m.Unmetered,
		Text: m.Text, OwnWords: m.OwnWords, Plain: m.Plain, Made: stamp(now),
	}
	if n := len(q.order); n > 0 {
		p.Seq = q.order[n-1].Seq + 1
	}
	p.ID = q.name(p)
	q.add(p)
	q.touch(p)
	delete(q.gone, p.ID)
	return *p, nil
}

// known finds the message that was put before under the same name.
func (q *Queue) known(m *Message) *Message {
	if m.Notice() {
		return q.keys[m.Key]
	}
	if same := q.refs[reference{m.To, m.Ref}]; m.Ref != "" && len(same) > 0 {
		return same[0]
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
	} else {
		q.senders[m.From] = append(q.senders[m.From], m)
		if m.Ref != "" {
			r := reference{m.To, m.Ref}
			q.refs[r] = append(q.refs[r], m)
		}
	}
	b := q.agents[m.To]
	if b == nil {
		b = &box{}
		q.agents[m.To] = b
	}
	b.all = append(b.all, m)
	if !m.State.Ended() {
		b.open = append(b.open, m)
	}
	q.remember(m)
	for _, t := range m.stamps() {
		q.seen(*t)
	}
}

// touch notes that a message has changed.
func (q *Queue) touch(m *Message) { q.changed[m] = struct{}{} }

// seen notes a stamp.
func (q *Queue) seen(t time.Time) {
	if t.After(q.newest) {
		q.newest = t
	}
}

// Unput drops a send that was never offered, as if it had never been put: it could not
// be stored, and its sender was told so.
func (q *Queue) Unput(id ID) bool {
	m := q.ids[id]
	if m == nil || m.Notice() || m.State != Waiting || m.Offers > 0 {
		return false
	}
	same := func(o *Message) bool { return o == m }
	b := q.agents[m.To]
	b.open = slices.DeleteFunc(b.open, same)
	q.remove(same)
	return true
}

// Rename makes the messages of one agent those of another: an agent got another id. To
// and the keys of notices about it change, and the order stays that of Put. If either was
// on hold, the new id is.
func (q *Queue) Rename(from, to alerts.AgentID) {
	if from == to || to == "" {
		return
	}
	q.rekey(from, to)
	if _, on := q.held[from]; on {
		q.Hold(from, false)
		q.Hold(to, true)
	}
	old := q.agents[from]
	if old == nil {
		return
	}
	delete(q.agents, from)
	b := q.agents[to]
	if b == nil {
		b = &box{}
		q.agents[to] = b
	}
	for _, m := range old.all {
		m.To = to
		q.touch(m)
		if r := (reference{from, m.Ref}); len(q.refs[r]) > 0 && !m.Notice() {
			q.refs[reference{to, m.Ref}] = merge(q.refs[reference{to, m.Ref}], q.refs[r])
			delete(q.refs, r)
		}
	}
	b.all, b.open = merge(b.all, old.all), merge(b.open, old.open)
}

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

// merge keeps the order of Put.
func merge(a, b []*Message) []*Message {
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, bySeq)
	return all
}

func bySeq(a, b *Message) int { return cmp.Compare(a.Seq, b.Seq) }

// Find returns one message.
func (q *Queue) Find(id ID) (Message, bool) {
	if m := q.ids[id]; m != nil {
		return *m, true
	}
	return Message{}, false
}

// Of returns all known messages to one agent, in the order of Put.
func (q *Queue) Of(to alerts.AgentID) []Message {
	if b := q.agents[to]; b != nil {
		return values(b.all)
	}
	return nil
}

// All returns all known messages, in the order of Put.
func (q *Queue) All() []Message { return values(q.order) }

func values(list []*Message) []Message {
	all := make([]Message, len(list))
	for i, m := range list {
		all[i] = *m
	}
	return all
}

// Waiting returns how many messages have not ended: those that wait, and those that
// were offered.
func (q *Queue) Waiting() int {
	n := 0
	for _, b := range q.agents {
		n += len(b.open)
	}
	return n
}

// Waits lists the agents for whom a message waits, by id.
func (q *Queue) Waits() (agents []alerts.AgentID) {
	for to := range q.agents {
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
	b := q.agents[to]
	return b != nil && slices.ContainsFunc(b.open, func(m *Message) bool { return m.State == Waiting })
}

// sends counts those to an agent that have not ended.
func (q *Queue) sends(to alerts.AgentID) int {
	n := 0
	if b := q.agents[to]; b != nil {
		for _, m := range b.open {
			if !m.Notice() && !m.Unmetered {
				n++
			}
		}
	}
	return n
}

// stamp is a time as a store gives it back.
func stamp(t time.Time) time.Time { return t.Round(0).UTC() }

func (m *Message) stamps() [4]*time.Time {
	return [...]*time.Time{&m.Made, &m.First, &m.Offered, &m.Ended}
}
