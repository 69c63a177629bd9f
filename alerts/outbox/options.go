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

// What Put and Cancel refuse. Test for them with errors.Is: some come with figures.
var (
	// ErrFull: as many sends as Options.PerAgent have not ended for the agent.
	ErrFull = errors.New("the agent's queue is full: send again when it has read some")
	// ErrRate: Options.PerSenderMinute sends were accepted from the sender in a minute.
	ErrRate = errors.New("too many messages from one sender: wait a minute, then send again")
	// ErrTooLong: the text has more than Options.MessageBytes.
	ErrTooLong = errors.New("the message is too long: shorten it, or send the path of a file")
	// ErrEmpty: the text is nothing but space.
	ErrEmpty = errors.New("the message is empty: give it a text")
	// ErrText: the text, or one of the names that come with it, is not UTF-8.
	ErrText = errors.New("the message is not UTF-8: convert it")
	// ErrNoRecipient: the message names no agent.
	ErrNoRecipient = errors.New("the message has no recipient: name an agent")
	// ErrUnknown: the agent has no such message.
	ErrUnknown = errors.New("the agent has no such message: sm messages lists them")
	// ErrOffered: the message was given to a carrier, and may have been read.
	ErrOffered = errors.New("the agent may have read the message already: send another that corrects it")
)

// Options are the settings of a Queue: those under queue, and how long to wait for
// proof.
type Options struct {
	// PerAgent is how many sends to one agent may be unfinished, MessageBytes how long
	// a text may be, PerSenderMinute how many sends are accepted from one sender in a
	// minute; all senders without a name are one. Notices neither count for PerAgent
	// and PerSenderMinute nor are limited by them.
	PerAgent        int `yaml:"per_agent" default:"50" bounds:"1..1000000"`
	MessageBytes    int `yaml:"message_bytes" default:"4096" bounds:"1..65536"`
	PerSenderMinute int `yaml:"per_sender_minute" default:"10" bounds:"1..1000000"`
	// Offers is how often a message may be offered before it ends unconfirmed, though
	// a transcript that was read lacks it each time; 0: without limit. It is a brake
	// for a client that drops what it is given, or writes it in a way that hides the id.
	// An unanswered Call does not count.
	Offers int `yaml:"-"`
	// TTL is for how long a message may wait, and for how long one that has ended is
	// remembered.
	TTL time.Duration `yaml:"ttl" default:"24h" bounds:">0"`
	// Proof is how far past an offer a transcript must have been read to show that it
	// lacks the message, and how long to wait where there is none; 0: 30 seconds.
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

// check returns what is wrong with a message, for any sender and at any time.
func (o *Options) check(m *Message) error {
	texts := []string{m.Text, m.From, m.Ref, m.To, m.Key.Agent, m.Key.Ref}
	switch {
	case !utf8.ValidString(strings.Join(texts, " ")):
		return ErrText // it would come back from a store as another
	case m.To == "":
		return ErrNoRecipient
	case strings.TrimSpace(m.Text) == "":
		return ErrEmpty
	case len(m.Text) > o.MessageBytes:
		return fmt.Errorf("%d bytes of at most %d: %w", len(m.Text), o.MessageBytes, ErrTooLong)
	}
	return nil
}

// admit returns an error if one more send is too many now.
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
		// By the order of Put, not by counting stamps: a clock that was set back then
		// stops a sender for a minute at most.
		sent++
		if sent == limit && now.Sub(o.Made).Abs() < time.Minute {
			return fmt.Errorf("%d messages a minute: %w", limit, ErrRate)
		}
	}
	return nil
}
