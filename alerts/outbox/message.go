package outbox

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	"sm/alerts"
	"sm/transcript/wording"
)

// Carrier is a way of delivery. The numbers are stored: add new carriers at the
// end.
type Carrier uint8

// The carriers. None means that a message has not been offered.
const (
	None Carrier = iota
	// Hook is the reply to a hook of the agent's client.
	Hook
	// Tmux is the prompt of an idle client.
	Tmux
	// Restart is the prompt with which sm run restarts the client.
	Restart
	// Queued is the client's queue for a session, from which it takes the
	// message as a prompt when it is idle.
	Queued
	// Carriers is the number of carriers, including None.
	Carriers
)

// String returns the carrier as metrics and the API write it.
func (c Carrier) String() string {
	return alerts.Word(c, "none", "hook", "tmux", "restart", "queue")
}

// State is the state of a message. The numbers are stored: add new states at
// the end.
type State uint8

// The states. A message that is Waiting or Offered has not ended, all others have.
const (
	// Waiting: the message is to be offered, for the first time or again.
	Waiting State = iota
	// Offered: the message was given to a carrier and has not been confirmed.
	Offered
	// Confirmed: a transcript shows that the message was read.
	Confirmed
	// Unconfirmed: the message was offered, and whether it was read is unknown.
	Unconfirmed
	// Expired: the message has waited for Options.TTL.
	Expired
	// Withdrawn: the message was withdrawn.
	Withdrawn
	// Refused: no carrier can deliver the message. It is not used at present,
	// but metrics show it and it may be stored.
	Refused
	// States is the number of states. Those from Confirmed on are final.
	States
)

// String returns the state as metrics and the API write it.
func (s State) String() string {
	return alerts.Word(
		s,
		"waiting",
		"offered",
		"confirmed",
		"unconfirmed",
		"expired",
		"withdrawn",
		"refused",
	)
}

// Ended reports whether the state is final.
func (s State) Ended() bool { return s > Offered }

// Message is a text to an agent and its state. It is stored as JSON. All times
// are in UTC, and zero for events that have not happened.
type Message struct {
	ID string
	// Seq numbers messages in the order of Put.
	Seq uint64
	// Key is the key of a notice, zero for a send.
	Key alerts.Key `json:",omitzero"`
	// Ref is the sender's own id for a send, "" for none. A notice is
	// identified by its Key only.
	Ref string `json:",omitzero"`
	To  string
	// From is the sender, "" for sm itself and for people.
	From string      `json:",omitzero"`
	Mode alerts.Mode `json:",omitzero"`
	// Unmetered sends do not count for Options.PerAgent and PerSenderMinute,
	// and are not limited by them: the caller limits them, as for reminders.
	Unmetered bool `json:",omitzero"`
	// Text is the text as given, without heading and id. After the message has
	// ended, its first 80 characters are kept.
	Text string
	// OwnWords means that sm wrote the text of a send, as it does for all
	// notices. If set, Plain replaces the Text of a notice when the whole
	// message is typed.
	OwnWords bool   `json:",omitzero"`
	Plain    string `json:",omitzero"`
	Made     time.Time

	State State `json:",omitzero"`
	// Offers counts the offers that may have reached a carrier. First is the
	// time of the first one; Via and Offered belong to the newest. They are
	// zero while Offers is zero.
	Offers  int       `json:",omitzero"`
	First   time.Time `json:",omitzero"`
	Offered time.Time `json:",omitzero"`
	Via     Carrier   `json:",omitzero"`
	// Calls counts the Offers that were only a Call, so that the text was not
	// returned. Calling means that the newest Offer is an unanswered Call.
	Calls   int  `json:",omitzero"`
	Calling bool `json:",omitzero"`
	// Placed means that the newest Offer is or was in the client's queue.
	Placed bool `json:",omitzero"`
	// Thread is the session whose queue has the message, "" if unknown. Moves
	// counts the sessions that the agent left before it read the message; Left
	// means that Thread is one of them.
	Thread string `json:",omitzero"`
	Moves  int    `json:",omitzero"`
	Left   bool   `json:",omitzero"`
	// Ended is when the message ended; for Confirmed, when it was read.
	Ended time.Time `json:",omitzero"`
}

const (
	// nameLength limits the displayed name of a sender, endedLength the stored
	// text of a message that has ended, both in characters.
	nameLength  = 64
	endedLength = 80
	// idLength is the number of digits of an ID.
	idLength = 6
)

// Notice reports whether the message is a notice rather than a send.
func (m Message) Notice() bool { return m.Key != alerts.Key{} }

// Line returns the text for the agent: a heading that names the sender, the
// text and the id, as in "[sm from web] Done. #a1b2c3". A text that begins with
// "[sm " keeps that as its heading. A send whose text was given out before is
// marked as repeated, because the agent may have read it. A Line always begins
// with "[sm " and ends with the id.
func (m Message) Line() string {
	again := m.Offers-m.Calls > 1
	return m.line(m.Text, again) + wording.IDMark + m.ID
}

// line returns the Line with the given text and without the id.
func (m Message) line(text string, again bool) string {
	own := strings.HasPrefix(text, wording.Heading)
	switch {
	case own && again && !m.Notice():
		return text + " - repeated"
	case own:
		return text
	case m.Notice():
		return wording.Context + text
	}
	heading := wording.Heading + "message"
	if name := title(m.From); name != "" {
		heading = wording.Heading + "from " + name
	}
	if again {
		heading += ", repeated"
	}
	return heading + "] " + text
}

// isLine reports whether s is the message's line without the id, as a
// transcript may contain it: adapted for the agent, with the path of sm, and
// clipped by [wording.Clip].
func (m Message) isLine(s string) bool {
	if strings.TrimSpace(s) == strings.TrimSpace(callHeading) {
		return false
	}

	got := words(wording.PlainProgram(s))
	for _, text := range []string{m.Text, cmp.Or(m.Plain, m.Text)} {
		for _, again := range []bool{false, true} {
			want := words(wording.PlainProgram(m.line(text, again)))
			switch {
			case got == want:
				return true
			case m.State.Ended() &&
				strings.HasPrefix(got, want): // only endedLength characters are stored
				return true
			case len(s) >= clipped && isClip(got, want):
				return true
			}
		}
	}
	return false
}

// clipped is the length in bytes, without the id, of the shortest line that may
// have been clipped.
const clipped = 48

// isClip reports whether got is a prefix of want followed by at most 16 bytes
// of its end.
func isClip(got, want string) bool {
	n := 0
	for n < min(len(got), len(want)) && got[n] == want[n] {
		n++
	}
	return len(got)-n <= 16 && strings.HasSuffix(want, got[n:])
}

// words returns the letters and digits of a text. Other characters may change
// when a text is adapted for an agent, and "@" becomes "(at)".
func words(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return r
	}, strings.ReplaceAll(s, "(at)", ""))
}

// title returns a sender's name in one line, without brackets that could end the
// heading.
func title(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '[':
			return '('
		case r == ']':
			return ')'
		case !unicode.IsPrint(r):
			return ' '
		}
		return r
	}, name)
	return fmt.Sprintf("%.*s", nameLength, strings.TrimSpace(name))
}
