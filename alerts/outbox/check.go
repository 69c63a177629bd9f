package outbox

import (
	"cmp"
	"time"
)

// pace is the shortest pause before the next check how far a transcript has
// been read.
const pace = time.Second

// ReadUntil returns the time up to which the transcript of an agent has been
// read, see [Queue.Check]. answered is the time of the hook reply that
// delivered the message, zero for other carriers.
type ReadUntil func(to string, answered time.Time) (until time.Time, any bool)

// Check applies the passing of time, and returns when to call it again, zero
// for never. For each Offered message it calls read, which returns the time up
// to which the agent's transcript has been read, as far as a hook reply at the
// time answered can appear in it; any is false without a transcript.
//
//   - Only a Call was typed, and no hook has requested the text within
//     Options.Proof: the message waits again. The offer does not count for
//     Options.Offers.
//   - The transcript was read up to Options.Proof past the offer: the message
//     waits again, or ends unconfirmed after Options.Offers.
//   - The message was offered to the queue of the client: it stays there until
//     it is read, and ends unconfirmed after Options.TTL. If it has not been
//     confirmed to be in the queue after Options.Proof, it waits to be offered
//     there again.
//   - There is no transcript, and Options.Proof has passed: a notice ends
//     unconfirmed; a send waits again once, and ends unconfirmed after its
//     second offer.
//   - The transcript exists but has not been read up to that point for another
//     Options.TTL: the message ends unconfirmed.
//
// Messages that have waited for Options.TTL expire, and messages that ended
// that long ago are forgotten.
func (q *Queue) Check(now time.Time, read ReadUntil) (next time.Time) {
	ttl := q.options.TTL
	q.remove(func(m *Message) bool {
		return m.State.Ended() &&
			!now.Before(m.Ended.Add(ttl))
	})
	for _, m := range q.order {
		var at time.Time
		if m.State == Offered {
			at = q.decide(m, now, read)
		}
		if m.State == Waiting && q.stale(m, now) {
			q.end(m, Expired, now)
		}
		switch {
		case m.State == Waiting:
			at = m.Made.Add(ttl)
		case m.State.Ended():
			at = m.Ended.Add(ttl)
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

// decide handles an offered message that is not confirmed. It returns when to
// try again if it is too early for a decision.
func (q *Queue) decide(m *Message, now time.Time, read ReadUntil) (next time.Time) {
	due := m.Offered.Add(q.options.Proof)
	if m.Placed { // the session reads it whenever it is idle
		due = m.Offered.Add(q.options.TTL)
	}
	// A transcript proves nothing about a call or a message in a client's
	// queue.
	timed := m.Calling || m.Via == Queued
	var until, answered time.Time
	any := false
	if !timed {
		if m.Via == Hook {
			answered = m.Offered
		}
		until, any = read(m.To, answered)
	}
	texts := m.Offers - m.Calls
	end := false
	switch {
	case any && !until.Before(due):
		end = q.options.Offers > 0 && texts >= q.options.Offers
	case now.Before(due):
		return due
	case any && now.Before(due.Add(q.options.TTL)):
		// Reading advances in real time, or faster when it has to catch up.
		return now.Add(max(pace, min(due.Sub(until), q.options.Proof)))
	case timed:
		end = m.Placed
	default:
		end = any || m.Notice() || texts > 1
	}
	if end {
		q.end(m, Unconfirmed, now)
	} else {
		q.wait(m)
	}
	return next
}

// wait makes an offered message wait again.
func (q *Queue) wait(m *Message) {
	m.State = Waiting
	m.Calling = false
	m.Placed = false
}

// stale reports whether a message has waited too long.
func (q *Queue) stale(m *Message, now time.Time) bool {
	return !now.Before(m.Made.Add(q.options.TTL))
}

// Withdraw withdraws the messages that satisfy fit and have not ended,
// including offered ones that may have been read, and returns their number.
func (q *Queue) Withdraw(fit func(*Message) bool, now time.Time) (n int) {
	for m := range q.open() {
		if fit(m) {
			q.end(m, Withdrawn, now)
			n++
		}
	}
	return n
}

// Cancel withdraws a message to an agent, by its Ref or ID, and returns it. A
// message that waits to be offered again is not repeated then; a message that
// has ended unconfirmed stays as it is. The errors are ErrUnknown, and
// ErrOffered if the message may have been read.
func (q *Queue) Cancel(to string, id string, now time.Time) (Message, error) {
	m := cmp.Or(q.known(&Message{To: to, Ref: id}), q.ids[id])
	switch {
	case m == nil || m.To != to:
		return Message{}, ErrUnknown
	case m.State == Waiting || m.Calling:
		q.end(m, Withdrawn, now)
	case m.State != Withdrawn && m.Offers > 0:
		return *m, ErrOffered
	}
	return *m, nil
}

// Forget drops the notices about an agent, including those to other agents, and
// withdraws those that have not ended. Call it with the engine's Forget, since
// an agent that returns uses the same keys. Sends to the agent stay.
func (q *Queue) Forget(about string, now time.Time) {
	fit := func(m *Message) bool { return m.Notice() && m.Key.Agent == about }
	q.Withdraw(fit, now)
	q.remove(fit)
}
