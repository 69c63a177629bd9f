package outbox

import (
	"cmp"
	"strings"
	"time"

	"sm/alerts"
	"sm/transcript/wording"
)

// callHeading begins a call: a line that is typed if hooks of the client work.
// It names a message by its id and has nothing of its text, which the client's
// hook asks for.
const callHeading = wording.Message

// Call returns the line that is typed for a message whose text the client's own
// hook asks for. Calls differ in the id only, and are harmless to a shell.
func (m Message) Call() string { return callHeading + "#" + m.ID }

// Called parses a prompt that is a call and nothing else.
func Called(prompt string) (id string, ok bool) {
	s, ok := strings.CutPrefix(strings.TrimSpace(prompt), callHeading+"#")
	if !ok || len(s) != idLength || strings.Trim(s, "0123456789abcdef") != "" {
		return "", false
	}
	return s, true
}

// Call takes the best waiting message like Offer by Tmux, for a carrier that
// types its Call only. Until Answer or Offer hands out the text, the agent
// cannot have read it, and other carriers may take it.
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

// Answer takes the message that a client asks for after a call; the reply to its
// hook must deliver its Line. It has no ID if the message is unknown, another
// agent's, ended, given to another carrier since, possibly in the client's
// queue, or held.
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
// texts any message may. Without, it must be in sm's own words and have no
// character with a meaning in shells.
func (m Message) Typeable(texts bool) bool {
	return texts ||
		(m.Notice() || m.OwnWords) &&
			alerts.Plain(strings.TrimSuffix(m.Typed(), wording.IDMark+m.ID))
}

// Typed returns the Line to be typed. For a notice in the user's words that are
// not plain it has sm's own words.
func (m Message) Typed() string {
	m.Text = cmp.Or(m.Plain, m.Text)
	return m.Line()
}
