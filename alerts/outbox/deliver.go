package outbox

import (
	"iter"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sm/alerts"
	"sm/transcript/wording"
)

// early is by how much a message may be heard before it was offered: clients and
// queue stamp separately.
const early = 5 * time.Second

// Offer takes the best message that waits for the agent: of a Mode of at least least,
// the most urgent, of those the oldest; by Tmux, one that was offered so before goes ahead
// of all others. The carrier is to deliver its Line. ok is false
// if there is none, or if the agent is on hold and the carrier is not Restart.
// Messages that have waited for Options.TTL expire instead.
func (q *Queue) Offer(to alerts.AgentID, by Carrier, least alerts.Mode, now time.Time) (m Message, ok bool) {
	return q.OfferOf(to, by, least, now, nil)
}

// OfferOf is Offer of those messages alone that fit; nil takes all.
func (q *Queue) OfferOf(to alerts.AgentID, by Carrier, least alerts.Mode, now time.Time, fit func(*Message) bool) (m Message, ok bool) {
	best := q.best(to, by, least, now, fit)
	if best == nil {
		return Message{}, false
	}
	q.offer(best, by, now)
	return *best, true
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
	q.seen(m.Offered)
	q.touch(m)
}

// best finds what a carrier is to be given, once what has waited for too long has expired;
// fit, when set, chooses among it. What an agent is called for, and has not asked for yet,
// waits for all carriers but the prompt. What may lie in the client's queue waits for that
// alone, whose carrier looks first.
func (q *Queue) best(to alerts.AgentID, by Carrier, least alerts.Mode, now time.Time, fit func(*Message) bool) *Message {
	q.expire(to, now)
	_, held := q.held[to]
	if by == None || by >= carriers || held && by != Restart {
		return nil
	}
	var best *Message
	for _, m := range q.open[to] {
		waits := (m.State == Waiting || m.Calling && by != Tmux) && (by == Queued || !m.mayLie())
		if waits && m.Mode >= least && !q.stale(m, now) && (fit == nil || fit(m)) && (best == nil || m.ahead(best, by)) {
			best = m
		}
	}
	return best
}

// ahead says whether a message goes ahead of an older one. What was typed before, and cut
// off before its Enter, stands at the prompt still, where it keeps out all others until it
// is typed again. Of several such messages each gets its turn.
func (m *Message) ahead(older *Message, by Carrier) bool {
	typed, other := m.typed(), older.typed()
	switch {
	case by != Tmux || !typed && !other:
		return m.Mode > older.Mode
	case typed && other:
		return m.Offered.Before(older.Offered)
	}
	return typed
}

func (m *Message) typed() bool { return m.Offers > 0 && m.Via == Tmux }

// Unoffer takes an offer back that certainly did not reach the carrier: it counts as
// never made. A message that is not Offered stays as it is. Of an earlier offer Via and
// Offered are not known any more, so that those of this one stay.
func (q *Queue) Unoffer(id ID, now time.Time) {
	m := q.ids[id]
	if m == nil || m.State != Offered {
		return
	}
	m.State = Waiting
	m.Placed = false
	if m.Calling {
		m.Calls--
		m.Calling = false
	}
	if m.Offers--; m.Offers <= 0 {
		m.Offers = 0
		m.Via = None
		m.First = time.Time{}
		m.Offered = time.Time{}
		m.Thread = ""
	}
	q.touch(m)
	q.expire(m.To, now)
}

// Hold keeps the messages of an agent back while on: its context is about to be
// rotated, and what it heard now would be lost with it. Only Restart gets them. Holds
// are not part of what Take and Restore keep: the caller must hold again after a
// restart, before the first Offer.
func (q *Queue) Hold(to alerts.AgentID, on bool) {
	if on {
		q.held[to] = struct{}{}
	} else {
		delete(q.held, to)
	}
}

// Heard takes a text that the agent's transcript shows to have reached the model at a
// time, and returns the messages that it confirms, in the order of the text. Of a long
// text the beginning and the last 16 bytes are enough for the message that ends it.
//
// A text confirms a message if it has the whole line of the message: its heading, its
// text and its id. The line may be part of the text of another message to the agent,
// which quotes it; it then confirms nothing. Neither does a text that is over 5 s older
// than the first offer or has no time, nor any text while the message itself has never
// been given away.
func (q *Queue) Heard(to alerts.AgentID, text string, at time.Time) []Message {
	var heard []Message
	for start := strings.Index(text, wording.Heading); start >= 0; {
		m, end := q.lineAt(to, text, start)
		if m == nil {
			end = start + len(wording.Heading)
		} else {
			heard = q.confirm(heard, m, at)
		}

		next := strings.Index(text[end:], wording.Heading)
		if next < 0 {
			break
		}
		start = end + next
	}
	return heard
}

// lineAt returns the message to the agent whose line begins at text[start:], and where
// its id ends; nil for none.
func (q *Queue) lineAt(to alerts.AgentID, text string, start int) (m *Message, end int) {
	for i, id := range tokens(text[start:]) {
		m := q.ids[id]
		if m != nil && m.To == to && m.isLine(text[start:start+i]) {
			return m, start + i + len("#") + len(id)
		}
	}
	return nil, 0
}

func (q *Queue) confirm(heard []Message, m *Message, at time.Time) []Message {
	if m.State.Ended() || m.Offers <= m.Calls || at.Before(m.First.Add(-early)) {
		return heard
	}
	q.end(m, Confirmed, at)
	return append(heard, *m)
}

// tokens gives each id in a text with the position of its "#".
func tokens(text string) iter.Seq2[int, ID] {
	const size = len("#") + idLength
	return func(yield func(int, ID) bool) {
		for i := 0; ; i++ {
			n := strings.IndexByte(text[i:], '#')
			if n < 0 || len(text)-i-n < size {
				return
			}
			i += n
			after, _ := utf8.DecodeRuneInString(text[i+size:])
			if i > 0 && text[i-1] != ' ' || !hex(text[i+1:i+size]) || unicode.IsLetter(after) || unicode.IsDigit(after) {
				continue
			}
			if !yield(i, ID(text[i+1:i+size])) {
				return
			}
		}
	}
}

func hex(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == ""
}
