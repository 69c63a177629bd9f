package outbox

import (
	"fmt"
	"time"

	"sm/alerts"
)

// Enqueue is Offer by Queued, for the queue of a thread: the one that the agent is in.
func (q *Queue) Enqueue(to alerts.AgentID, thread string, now time.Time) (m Message, ok bool) {
	best := q.best(to, Queued, alerts.Sequential, now, nil)
	if best == nil {
		return Message{}, false
	}
	if best.mayLie() && best.Thread != thread {
		q.leave(best)
	}
	q.offer(best, Queued, now)
	best.Thread = thread
	return *best, true
}

// Mark is by what a message is found in the queue of a thread, after a "#". It differs from thread to thread, since a
// client keeps the queues of all its threads in one place.
func (m Message) Mark() string {
	if m.Moves == 0 {
		return string(m.ID)
	}
	return fmt.Sprintf("%s/%d", m.ID, m.Moves+1)
}

// mayLie says that a message may lie in the queue of the thread that its agent is in.
func (m *Message) mayLie() bool { return m.Offers > 0 && m.Via == Queued && !m.Left }

// decideQueued says what becomes of a message that was offered to a client's queue. One that lies
// there is heard whenever the session takes it. Of another it is not known whether it came
// there: it waits again, for this queue alone, whose carrier looks first.
func (q *Queue) decideQueued(m *Message, now, due time.Time) (next time.Time) {
	if m.Placed {
		due = m.Offered.Add(q.options.TTL)
	}
	switch {
	case now.Before(due):
		return due
	case m.Placed:
		q.end(m, Unconfirmed, now)
	default:
		q.wait(m)
	}
	return next
}

// Placed notes that an offered message lies in the client's queue.
func (q *Queue) Placed(id ID) {
	if m := q.ids[id]; m != nil && !m.State.Ended() && m.mayLie() {
		m.State = Offered
		m.Placed = true
		q.touch(m)
	}
}

// Leave lets messages wait again, for any carrier, that lie in the queue of a thread which their agent has left: it may
// never come back there. in says which thread an agent is in, "" where that is not known.
func (q *Queue) Leave(in func(alerts.AgentID) string) {
	for to, open := range q.open {
		for _, m := range open {
			if !m.mayLie() || m.Thread == "" {
				continue // as most: in is asked for few
			}
			if thread := in(to); thread != "" && thread != m.Thread {
				q.leave(m)
			}
		}
	}
}

func (q *Queue) leave(m *Message) {
	m.State = Waiting
	m.Left = true
	m.Placed = false
	m.Moves++
	q.touch(m)
}
