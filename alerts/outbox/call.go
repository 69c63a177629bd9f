package outbox

import (
	"strings"
	"time"

	"sm/alerts"
	"sm/transcript/wording"
)

// callHeading begins a call: the one line that is typed where the hooks of a client work. It
// names a message by its id, and holds nothing of its text: the client's hook asks for that.
const callHeading = wording.Message

// Call is the line that is typed for a message whose text the client's own hook is to ask
// for. It is the same for all messages but for the id, and no shell makes anything of it.
func (m Message) Call() string { return callHeading + "#" + string(m.ID) }

// Called reads a prompt that is nothing but a call.
func Called(prompt string) (id ID, ok bool) {
	s, ok := strings.CutPrefix(strings.TrimSpace(prompt), callHeading+"#")
	if !ok || len(s) != idLength || !hex(s) {
		return "", false
	}
	return ID(s), true
}

// Call takes the best message that waits for the agent, as Offer by Tmux does, for a carrier
// that types no more than its Call. Until Answer or Offer gives its text away, the agent
// cannot have heard it: other carriers may still take it.
func (q *Queue) Call(to alerts.AgentID, now time.Time) (m Message, ok bool) {
	best := q.best(to, Tmux, alerts.Sequential, now, nil)
	if best == nil {
		return Message{}, false
	}
	q.offer(best, Tmux, now)
	best.Calling = true
	best.Calls++
	return *best, true
}

// OfferTyped is Offer by Tmux, of those messages alone that may be typed whole: all with
// texts, else those with a Plain line.
func (q *Queue) OfferTyped(to alerts.AgentID, texts bool, now time.Time) (m Message, ok bool) {
	return q.OfferOf(to, Tmux, alerts.Sequential, now, func(m *Message) bool { return m.Typeable(texts) })
}

// Answer takes the message that an agent's client asks for by its call; the reply to its
// hook is to deliver its Line. ok is false when there is nothing to say: the message is
// another agent's or unknown, has ended, has been given to another carrier since, may lie in
// the client's queue, or waits since the agent is on hold.
func (q *Queue) Answer(to alerts.AgentID, id ID, now time.Time) (m Message, ok bool) {
	p := q.ids[id]
	if p == nil || p.To != to || p.State.Ended() || p.State == Offered && !p.Calling || p.mayLie() {
		return Message{}, false
	}
	q.expire(to, now)
	if p.State.Ended() {
		return Message{}, false
	}
	if _, held := q.held[to]; held {
		q.wait(p)
		return Message{}, false
	}
	if p.Calling { // this is what the call was for
		p.Calls--
		p.Calling = false
		p.Offered = stamp(now)
		q.seen(p.Offered)
		q.touch(p)
	} else {
		q.offer(p, Tmux, now)
	}
	return *p, true
}

// Typeable says whether the whole message may be typed into a pane. With texts any message may.
// Without, it must be in sm's own words, and hold no character that means something to a shell.
func (m Message) Typeable(texts bool) bool {
	return texts || (m.Notice() || m.OwnWords) && alerts.Plain(strings.TrimSuffix(m.Typed(), wording.IDMark+string(m.ID)))
}

// Typed is the Line as it is typed whole: of a notice in words of the user's that are not
// plain it has sm's own words.
func (m Message) Typed() string {
	if m.Plain == "" {
		return m.Line()
	}
	m.Text = m.Plain
	return m.Line()
}
