package outbox

import (
	"cmp"
	"time"

	"sm/alerts"
)

// Queue holds messages. It must not be used by several goroutines at once. All
// messages that it returns are copies.
type Queue struct {
	options Options
	order   []*Message // all, by Seq
	ids     map[string]*Message
	held    func(to string) bool

	counters Counters
	taken    map[string]Message // as of the last Take
}

// New returns an empty queue. held reports whether messages to an agent are
// held back because a rotation will soon clear its context, and the messages
// with it; only Restart gets them.
func New(o Options, held func(to string) bool) *Queue {
	q := &Queue{
		ids:   map[string]*Message{},
		held:  held,
		taken: map[string]Message{},
	}
	q.Configure(o)
	return q
}

// Put accepts a message. The caller sets To, Key, Ref, From, Mode, Unmetered,
// Text, OwnWords and Plain only. If the Key of a notice, or the Ref of a send
// to this agent, is already known, nothing changes, and the existing message is
// returned, whatever its state.
//
// The errors are ErrText, ErrNoRecipient, ErrEmpty, ErrTooLong, and for sends
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
	m.Seq = 1
	if n := len(q.order); n > 0 {
		m.Seq = q.order[n-1].Seq + 1
	}
	m.Mode = min(m.Mode, alerts.Urgent)
	m.Made = stamp(now)
	m.ID = q.name(&m)
	q.add(&m)
	return m, nil
}

// Reword replaces the texts of a notice that was never offered. The zero key
// matches no notice.
func (q *Queue) Reword(key alerts.Key, text, plain string) {
	if key == (alerts.Key{}) {
		return
	}
	for m := range q.open() {
		if m.Key == key && m.Offers == 0 {
			m.Text = text
			m.Plain = plain
		}
	}
}

// Unput drops a send that was never offered. It is for a send that could not be
// stored, whose sender got an error.
func (q *Queue) Unput(id string) {
	q.remove(func(m *Message) bool {
		return m.ID == id && !m.Notice() && m.State == Waiting && m.Offers == 0
	})
}

// Rename changes the id of an agent in the messages to it and in the keys of
// the notices about it. The order stays that of Put.
func (q *Queue) Rename(from, to string) {
	for _, m := range q.order {
		if m.To == from {
			m.To = to
		}
		key := m.Key
		if !m.Notice() || key.Agent != from {
			continue
		}
		key.Agent = to
		if q.known(&Message{Key: key}) == nil { // otherwise the new id has used the key
			m.Key = key
		}
	}
}

func bySeq(a, b Message) int { return cmp.Compare(a.Seq, b.Seq) }

// stamp returns a time as it will be after storing.
func stamp(t time.Time) time.Time { return t.Round(0).UTC() }
