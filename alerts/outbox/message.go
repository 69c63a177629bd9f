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

// Carrier is a way to reach an agent. Its number is stored: add new ones at the
// end.
type Carrier uint8

// The carriers. None means that a message was not offered.
const (
	None Carrier = iota
	// Hook is the reply to a hook of the agent's client.
	Hook
	// Tmux is the prompt of an idle client.
	Tmux
	// Restart is the prompt with which sm run starts the client anew.
	Restart
	// Queued is the client's queue for a session, from which it takes the
	// message as a prompt when it is idle.
	Queued
	// Carriers is the number of them, with None.
	Carriers
)

// String is the carrier as metrics and the API write it.
func (c Carrier) String() string {
	return alerts.Word(c, "none", "hook", "tmux", "restart", "queue")
}

// State is the state of a message. Its number is stored: add new ones at the
// end.
type State uint8

// The states. A message that is Waiting or Offered has not ended, all others have.
const (
	// Waiting is to be offered, for the first time or again.
	Waiting State = iota
	// Offered was given to a carrier, without proof yet that it was read.
	Offered
	// Confirmed was read: a transcript shows it.
	Confirmed
	// Unconfirmed was offered, and whether it was read cannot be known.
	Unconfirmed
	// Expired has waited for Options.TTL.
	Expired
	// Withdrawn was taken back.
	Withdrawn
	// Refused cannot be delivered by any carrier. It is not used at present;
	// metrics show it, and it may be stored.
	Refused
	// States is the number of them. Those from Confirmed on are final.
	States
)

// String is the state as metrics and the API write it.
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
// are in UTC, zero for what has not happened.
type Message struct {
	ID string
	// Seq numbers messages in the order of Put.
	Seq uint64
	// Key is that of a notice, zero for a send.
	Key alerts.Key `json:",omitzero"`
	// Ref is the sender's own id for a send, "" for none. A notice is known by its Key
	// alone.
	Ref string `json:",omitzero"`
	To  string
	// From is who sent it, "" for sm itself and for people.
	From string      `json:",omitzero"`
	Mode alerts.Mode `json:",omitzero"`
	// Unmetered sends do not count for Options.PerAgent and PerSenderMinute, and
	// are not limited by them: the caller bounds them, as for reminders.
	Unmetered bool `json:",omitzero"`
	// Text is as it was given, without heading and id. Of a message that has ended the
	// first 80 characters are kept.
	Text string
	// OwnWords means that sm wrote the text of a send, as it does for all
	// notices. Plain replaces the Text of a notice when the whole message is
	// typed, if set.
	OwnWords bool   `json:",omitzero"`
	Plain    string `json:",omitzero"`
	Made     time.Time

	State State `json:",omitzero"`
	// Offers counts the offers that may have reached a carrier. First is the time of
	// the first one; Via and Offered belong to the newest. They are zero while Offers
	// is.
	Offers  int       `json:",omitzero"`
	First   time.Time `json:",omitzero"`
	Offered time.Time `json:",omitzero"`
	Via     Carrier   `json:",omitzero"`
	// Calls counts the Offers that were only a Call: the text was not handed
	// out. Calling means that the newest Offer is an unanswered Call.
	Calls   int  `json:",omitzero"`
	Calling bool `json:",omitzero"`
	// Placed means that the newest Offer is in the client's queue, or was.
	Placed bool `json:",omitzero"`
	// Thread is the session with the queue, "" if unknown. Moves counts the
	// sessions that the agent left before the message was read; Left means that
	// Thread is one of them.
	Thread string `json:",omitzero"`
	Moves  int    `json:",omitzero"`
	Left   bool   `json:",omitzero"`
	// Ended is when it ended; for Confirmed, when it was read.
	Ended time.Time `json:",omitzero"`
}

const (
	// nameLength is how much of a sender's name is shown, endedLength how much of the
	// text of a message that has ended is kept, in characters.
	nameLength  = 64
	endedLength = 80
	// idLength is the number of an ID's digits.
	idLength = 6
)

// Notice reports whether the message is a notice rather than a send.
func (m Message) Notice() bool { return m.Key != alerts.Key{} }

// Line is what the agent reads: a heading that names the sender, the text and the id,
// as in "[sm from web] Done. #a1b2c3". A text that begins with "[sm " keeps that as its
// heading. When its text has been given away before, a send is marked as repeated: the
// agent may have read it. A Line always begins with "[sm " and ends with the id.
func (m Message) Line() string {
	again := m.Offers-m.Calls > 1
	return m.line(m.Text, again) + wording.IDMark + m.ID
}

// line is a Line with that text and without the id.
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

// isLine reports whether s is the message's line without the id, as a transcript may
// have it: made fit for the agent, with the path of sm, and clipped by [wording.Clip].
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
				strings.HasPrefix(got, want): // endedLength characters are left
				return true
			case len(s) >= clipped && isClip(got, want):
				return true
			}
		}
	}
	return false
}

// clipped is the length in bytes of the shortest line without id that may have been
// clipped.
const clipped = 48

// isClip reports whether got is the beginning of want and at most 16 bytes of its end.
func isClip(got, want string) bool {
	n := 0
	for n < min(len(got), len(want)) && got[n] == want[n] {
		n++
	}
	return len(got)-n <= 16 && strings.HasSuffix(want, got[n:])
}

// words returns the letters and digits of a text: other characters are changed when a
// text is made fit for an agent, and "@" becomes "(at)".
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
