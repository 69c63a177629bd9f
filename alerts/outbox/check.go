package outbox

import (
	"cmp"
	"time"
)

// pace is how soon to ask again, at the earliest, whether a transcript has been read.
const pace = time.Second

// ReadUntil returns up to when the transcript of an agent has been read; see
// [Queue.Check]. answered is when the message was delivered by a reply to a
// hook, zero for other carriers.
type ReadUntil func(to string, answered time.Time) (until time.Time, any bool)

// Check applies the passing of time, and returns when to call it
// again, zero for never. For each Offered message it calls read, which returns up to
// when the agent's transcript has been read, as far as a reply of that time can show
// in it; any is false without a transcript.
//
//   - No more than a Call was typed, and no hook has asked for the text within
//     Options.Proof: the message waits again. It does not count for Options.Offers.
//   - The transcript was read up to Options.Proof past the offer: the message waits
//     again, or ends unconfirmed after Options.Offers.
//   - It was offered to the queue of the client: it stays until it is read, and ends
//     unconfirmed after Options.TTL. If it is not known to be there after Options.Proof
//     it waits to be offered there again.
//   - There is no transcript, and Options.Proof has passed: a notice ends unconfirmed; a
//     send waits again once, and ends unconfirmed after its second offer.
//   - A transcript that is there has not been read so far for Options.TTL on top of that:
//     the message ends unconfirmed.
//
// Messages that have waited for Options.TTL expire, and those that ended that long ago
// are forgotten.
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

// decide handles an offered message without proof, and returns when to try again
// if it is too early.
func (q *Queue) decide(m *Message, now time.Time, read ReadUntil) (next time.Time) {
	due := m.Offered.Add(q.options.Proof)
	if m.Placed { // the session reads it whenever it is idle
		due = m.Offered.Add(q.options.TTL)
	}
	// Of a call, and of what may be in a client's queue, a transcript proves nothing.
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
		// Reading goes on at the pace of time, or faster when it has to catch up.
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

// wait lets an offered message wait again.
func (q *Queue) wait(m *Message) {
	m.State = Waiting
	m.Calling = false
	m.Placed = false
}

// stale reports whether a message has waited too long.
func (q *Queue) stale(m *Message, now time.Time) bool {
	return !now.Before(m.Made.Add(q.options.TTL))
}

// Withdraw takes back the messages that have not ended and fit, also offered ones that
// may have been read, and returns their number.
func (q *Queue) Withdraw(fit func(*Message) bool, now time.Time) (n int) {
	for m := range q.open() {
		if fit(m) {
			q.end(m, Withdrawn, now)
			n++
		}
	}
	return n
}

// Cancel takes back a message to an agent, by its Ref or ID, and returns it. A message
// that waits to be offered again is not repeated then; one that has ended without proof
// stays as it is. The errors are ErrUnknown, and ErrOffered if it may have been read.
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

// Forget drops the notices about an agent at once, also those to other agents,
// and withdraws them if they have not ended. It belongs to the engine's Forget:
// an agent that returns uses the same keys. Sends to the agent stay.
func (q *Queue) Forget(about string, now time.Time) {
	fit := func(m *Message) bool { return m.Notice() && m.Key.Agent == about }
	q.Withdraw(fit, now)
	q.remove(fit)
}
