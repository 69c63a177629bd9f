package outbox

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The errors of Put and Cancel. Some are wrapped with figures.
var (
	// ErrFull: Options.PerAgent sends to the agent have not ended.
	ErrFull = errors.New("the agent's queue is full: send again when it has read some")
	// ErrRate: the sender has sent Options.PerSenderMinute messages within a
	// minute.
	ErrRate = errors.New("too many messages from one sender: wait a minute, then send again")
	// ErrTooLong: the text has more than Options.MessageBytes bytes.
	ErrTooLong = errors.New("the message is too long: shorten it, or send the path of a file")
	// ErrEmpty: the text consists of white space.
	ErrEmpty = errors.New("the message is empty: give it a text")
	// ErrText: the text or one of the names is not UTF-8.
	ErrText = errors.New("the message is not UTF-8: convert it")
	// ErrNoRecipient: the message has no recipient.
	ErrNoRecipient = errors.New("the message has no recipient: name an agent")
	// ErrUnknown: the agent has no such message.
	ErrUnknown = errors.New("the agent has no such message: sm messages lists them")
	// ErrOffered: the message was given to a carrier, and may have been read.
	ErrOffered = errors.New("the agent may have read the message already: send another that corrects it")
)

// Options are the settings of a Queue: those under queue in the configuration,
// and the time to wait for proof.
type Options struct {
	// PerAgent limits the sends to one agent that have not ended, MessageBytes
	// the length of a text, and PerSenderMinute the sends from one sender in a
	// minute; all senders without a name count as one. Notices neither count
	// for PerAgent and PerSenderMinute nor are limited by them.
	PerAgent        int `yaml:"per_agent" default:"50" bounds:"1..1000000"`
	MessageBytes    int `yaml:"message_bytes" default:"4096" bounds:"1..65536"`
	PerSenderMinute int `yaml:"per_sender_minute" default:"10" bounds:"1..1000000"`
	// Offers limits the offers of a message that the transcript lacks after
	// each offer; then the message ends unconfirmed. 0: no limit. The limit is
	// for a client that drops its input, or records it in a form that hides the
	// id. An unanswered Call does not count.
	Offers int `yaml:"-"`
	// TTL limits how long a message may wait, and how long a message that has
	// ended is remembered.
	TTL time.Duration `yaml:"ttl" default:"24h" bounds:">0"`
	// Proof is how far past an offer a transcript must have been read to prove
	// that it lacks the message, and how long to wait without a transcript; 0:
	// 30 seconds.
	Proof time.Duration `yaml:"-"`
}

// Defaults returns the default settings.
func Defaults() Options {
	return Options{
		PerAgent:        50,
		MessageBytes:    4096,
		PerSenderMinute: 10,
		TTL:             24 * time.Hour,
		Proof:           30 * time.Second,
	}
}

// Configure changes the settings. Messages that were accepted stay.
func (q *Queue) Configure(o Options) {
	o.Proof = cmp.Or(o.Proof, Defaults().Proof)
	q.options = o
}

// check returns an error for an invalid message, independent of sender and
// time.
func (o *Options) check(m *Message) error {
	texts := []string{m.Text, m.From, m.Ref, m.To, m.Key.Agent, m.Key.Ref}
	switch {
	case !utf8.ValidString(strings.Join(texts, " ")):
		return ErrText // a store would change it
	case m.To == "":
		return ErrNoRecipient
	case strings.TrimSpace(m.Text) == "":
		return ErrEmpty
	case len(m.Text) > o.MessageBytes:
		return fmt.Errorf("%d bytes of at most %d: %w", len(m.Text), o.MessageBytes, ErrTooLong)
	}
	return nil
}

// admit returns an error if another send would exceed the limits.
func (q *Queue) admit(m *Message, now time.Time) error {
	n := 0
	for o := range q.open() {
		if o.To == m.To && !o.Notice() && !o.Unmetered {
			n++
		}
	}
	if n >= q.options.PerAgent {
		return fmt.Errorf("%d messages of at most %d: %w", n, q.options.PerAgent, ErrFull)
	}
	limit := q.options.PerSenderMinute
	sent := 0
	for _, o := range slices.Backward(q.order) {
		if o.Notice() || o.Unmetered || o.From != m.From {
			continue
		}
		// This uses the order of Put instead of counting stamps, so that a
		// clock that was set back stops a sender for a minute at most.
		sent++
		if sent == limit && now.Sub(o.Made).Abs() < time.Minute {
			return fmt.Errorf("%d messages a minute: %w", limit, ErrRate)
		}
	}
	return nil
}
