package outbox

import (
	"fmt"
	"time"
)

// Enqueue offers a message by Queued to the queue of a thread, the agent's
// current one.
func (q *Queue) Enqueue(
	to string,
	thread string,
	now time.Time,
) (m Message) {
	best := q.best(to, Queued, now, nil)
	if best == nil {
		return m
	}
	if best.mayBeQueued() && best.Thread != thread {
		q.leave(best)
	}
	q.offer(best, Queued, now)
	best.Thread = thread
	return *best
}

// Mark returns the identification of a message in the queue of a thread, after
// a "#". It differs between threads, because a client keeps the queues of all
// threads in one place.
func (m Message) Mark() string {
	if m.Moves == 0 {
		return m.ID
	}
	return fmt.Sprintf("%s/%d", m.ID, m.Moves+1)
}

// mayBeQueued reports whether a message may be in the queue of the agent's current
// thread.
func (m *Message) mayBeQueued() bool { return m.Offers > 0 && m.Via == Queued && !m.Left }

// Placed records that an offered message is in the client's queue.
func (q *Queue) Placed(id string) {
	if m := q.ids[id]; m != nil && !m.State.Ended() && m.mayBeQueued() {
		m.State = Offered
		m.Placed = true
	}
}

// Leave makes messages wait again, for any carrier, if their agent has left the
// thread whose queue has them. in returns the thread of an agent, "" if
// unknown.
func (q *Queue) Leave(in func(string) string) {
	for m := range q.open() {
		if !m.mayBeQueued() || m.Thread == "" {
			continue
		}
		if thread := in(m.To); thread != "" && thread != m.Thread {
			q.leave(m)
		}
	}
}

func (q *Queue) leave(m *Message) {
	m.Left = true
	m.Moves++
	q.wait(m)
}
