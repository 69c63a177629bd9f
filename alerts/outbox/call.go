package outbox

import (
	"cmp"
	"strings"
	"time"

	"sm/alerts"
	"sm/transcript/wording"
)

// callHeading begins a call, the line that is typed if hooks of the client
// work. A call contains the id of a message but not its text, which the
// client's hook requests.
const callHeading = wording.Message

// Call returns the line that is typed for a message whose text the client's own
// hook requests. Calls differ in the id only, and are harmless in a shell.
func (m Message) Call() string { return callHeading + "#" + m.ID }

// Called returns the id in a prompt that consists of a call only.
func Called(prompt string) (id string, ok bool) {
	s, ok := strings.CutPrefix(strings.TrimSpace(prompt), callHeading+"#")
	if !ok || len(s) != idLength || strings.Trim(s, "0123456789abcdef") != "" {
		return "", false
	}
	return s, true
}

// Call offers the best waiting message by Tmux, like Offer, to a carrier that
// types only its Call. Until Answer or Offer returns the text, the agent cannot
// have read it, and other carriers may take the message.
func (q *Queue) Call(to string, now time.Time) (m Message) {
	best := q.best(to, Tmux, now, nil)
	if best == nil {
		return m
	}
	q.offer(best, Tmux, now)
	best.Calling = true
	best.Calls++
	return *best
}

// Answer returns the message that a client requests after a call; the reply to
// its hook must contain the message's Line. The result has no ID if the message
// is unknown, for another agent, ended, given to another carrier since,
// possibly in the client's queue, or held.
func (q *Queue) Answer(to string, id string, now time.Time) (m Message) {
	p := q.ids[id]
	if p == nil || p.To != to || p.State.Ended() || p.State == Offered && !p.Calling ||
		p.mayBeQueued() || q.stale(p, now) {
		return m
	}
	if q.held(to) {
		q.wait(p)
		return m
	}
	if p.Calling {
		p.Calls--
		p.Calling = false
		p.Offered = stamp(now)
	} else {
		q.offer(p, Tmux, now)
	}
	return *p
}

// Typeable reports whether the whole message may be typed into a pane. With
// texts any message may be typed, otherwise only messages in sm's own words
// without characters that have a meaning in shells.
func (m Message) Typeable(texts bool) bool {
	return texts ||
		(m.Notice() || m.OwnWords) &&
			alerts.Plain(strings.TrimSuffix(m.Typed(), wording.IDMark+m.ID))
}

// Typed returns the Line to be typed. A notice in the user's words that are not
// plain is replaced by one in sm's own words.
func (m Message) Typed() string {
	m.Text = cmp.Or(m.Plain, m.Text)
	return m.Line()
}
