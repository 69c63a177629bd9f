package outbox

import (
	"cmp"
	"time"

	"sm/alerts"
)

// Queue holds messages. It must not be used by several goroutines at once. All that
// it returns are copies.
type Queue struct {
	options Options
	order   []*Message // all, by Seq
	ids     map[ID]*Message
	open    []*Message // those that have not ended, by Seq
	held    map[alerts.AgentID]struct{}

	counters Counters
	changed  map[*Message]struct{}
	gone     map[ID]struct{}
}

// New returns an empty queue.
func New(o Options) *Queue {
	q := &Queue{
		ids:     map[ID]*Message{},
		held:    map[alerts.AgentID]struct{}{},
		changed: map[*Message]struct{}{},
		gone:    map[ID]struct{}{},
	}
	q.Configure(o)
	return q
}

// Put accepts a message: To, Key, Ref, From, Mode, Unmetered, Text, OwnWords
// and Plain are the caller's, the rest is set here. If the notice's Key is
// known, or the send's Ref for this To, nothing changes, and the message that
// exists is returned, whatever has become of it.
//
// The errors are ErrText, ErrNobody, ErrEmpty, ErrTooLong, and for sends
// ErrFull and ErrRate.
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
		Seq:       1,
		Key:       m.Key,
		Ref:       m.Ref,
		To:        m.To,
		From:      m.From,
		Mode:      min(m.Mode, alerts.Urgent),
		Unmetered: m.Unmetered,
		Text:      m.Text,
		OwnWords:  m.OwnWords,
		Plain:     m.Plain,
		Made:      stamp(now),
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

// Unput drops a send that was never offered, because it could not be stored and
// its sender got an error.
func (q *Queue) Unput(id ID) bool {
	m := q.ids[id]
	if m == nil || m.Notice() || m.State != Waiting || m.Offers > 0 {
		return false
	}
	q.remove(func(o *Message) bool { return o == m })
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
	for _, m := range q.order {
		if m.To == from {
			m.To = to
			q.touch(m)
		}
	}
}

func bySeq(a, b Message) int { return cmp.Compare(a.Seq, b.Seq) }

// values copies messages; of none it is nil.
func values(list []*Message) (all []Message) {
	for _, m := range list {
		all = append(all, *m)
	}
	return all
}

// stamp is a time as a store gives it back.
func stamp(t time.Time) time.Time { return t.Round(0).UTC() }
