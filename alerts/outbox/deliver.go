package outbox

import (
	"strings"
	"time"

	"sm/transcript/wording"
)

// early is the maximum time by which the stamp of a proof may precede the
// offer, since clients and queue stamp separately.
const early = 5 * time.Second

// Offer offers the best waiting message to the agent: the most urgent, and of
// equally urgent ones the oldest; for Tmux, a message that was typed before
// goes first. If fit is not nil, only messages that satisfy it are considered.
// The carrier must deliver the Line of the message. The result has no ID if
// there is no message, or if messages to the agent are held and the carrier is
// not Restart. Stale messages are not offered.
func (q *Queue) Offer(
	to string,
	by Carrier,
	now time.Time,
	fit func(*Message) bool,
) (m Message) {
	best := q.best(to, by, now, fit)
	if best == nil {
		return m
	}
	q.offer(best, by, now)
	return *best
}

func (q *Queue) offer(m *Message, by Carrier, now time.Time) {
	m.State = Offered
	m.Via = by
	m.Offered = stamp(now)
	m.Calling = false
	m.Placed = false
	m.Left = false
	if m.Offers++; m.Offers == 1 {
		m.First = m.Offered
	}
}

// best returns the message for a carrier; if fit is not nil, only messages that
// satisfy it are considered. A message with an open call is available to all
// carriers except Tmux. A message that may be in the client's queue is
// available only to Queued, which checks the queue first.
func (q *Queue) best(
	to string,
	by Carrier,
	now time.Time,
	fit func(*Message) bool,
) *Message {
	if by != Restart && q.held(to) {
		return nil
	}
	var best *Message
	for m := range q.open() {
		waits := m.To == to && (m.State == Waiting || m.Calling && by != Tmux) &&
			(by == Queued || !m.mayBeQueued())
		if waits && !q.stale(m, now) && (fit == nil || fit(m)) &&
			(best == nil || m.ahead(best, by)) {
			best = m
		}
	}
	return best
}

// ahead reports whether a message goes before an older one. A message that was
// typed without its Enter is still at the prompt, where it blocks all others
// until it is typed again. Several of them take turns.
func (m *Message) ahead(older *Message, by Carrier) bool {
	typed := m.typed()
	other := older.typed()
	switch {
	case by != Tmux || !typed && !other:
		return m.Mode > older.Mode
	case typed && other:
		return m.Offered.Before(older.Offered)
	}
	return typed
}

func (m *Message) typed() bool { return m.Offers > 0 && m.Via == Tmux }

// Unoffer undoes an offer that certainly did not reach the carrier. A message
// that is not Offered stays as it is. The values of Via and Offered before the
// offer are not stored, so they are not restored.
func (q *Queue) Unoffer(id string) {
	m := q.ids[id]
	if m == nil || m.State != Offered {
		return
	}
	if m.Calling {
		m.Calls--
	}
	q.wait(m)
	if m.Offers--; m.Offers == 0 {
		m.Via = None
		m.First = time.Time{}
		m.Offered = time.Time{}
		m.Thread = ""
	}
}

// Confirm takes a text that reached the model according to the agent's
// transcript, and returns the messages that it confirms, in the order of the
// text. A long text may be reduced to its beginning and its last 16 bytes; that
// still confirms the message at its end.
//
// A text confirms a message if it contains the whole line of the message:
// heading, text and id. A line that is quoted within the text of another
// message to the agent confirms nothing. Neither does a text that is over 5 s
// older than the first offer or has no time, nor any text before the message
// was first offered.
func (q *Queue) Confirm(to string, text string, at time.Time) (confirmed []Message) {
	for {
		_, rest, found := strings.Cut(text, wording.Heading)
		if !found {
			return confirmed
		}
		var m *Message
		m, text = q.line(to, rest)
		if m != nil && !m.State.Ended() && m.Offers > m.Calls && !at.Before(m.First.Add(-early)) {
			q.end(m, Confirmed, at)
			confirmed = append(confirmed, *m)
		}
	}
}

// line returns the agent's message with which the text begins, and the rest of
// the text; else nil and the text. The first bytes of the message's heading
// have already been removed from the text.
func (q *Queue) line(to string, text string) (m *Message, rest string) {
	for i := range max(0, len(text)-idLength) {
		if text[i] != '#' {
			continue
		}
		end := i + 1 + idLength
		m := q.ids[text[i+1:end]]
		if m != nil && m.To == to && m.isLine(wording.Heading+text[:i]) {
			return m, text[end:]
		}
	}
	return nil, text
}
