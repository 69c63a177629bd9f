// Package backlog keeps what the files of a first reading hold, until all of them are known and it can be said which of
// them was first: a gigabyte of transcripts holds some 75,000 messages, so that each takes no more than 24 bytes.
//
// It decides nothing: whose a message or compaction is, and what counts, is for observer/fleet to say.
package backlog

import (
	"slices"

	"sm/transcript"
)

// Backlog is what one file held when it was read whole, and what came after.
type Backlog struct {
	Messages    []Record
	Compactions []Compaction
	Later       []Later
	Bills       []transcript.Bill // the newest
	today       transcript.Instant
}

// maxBills bounds them.
const maxBills = 8

// Record is a message in 24 bytes. Figures need 30 of their bits; the others are
// flags.
type Record struct {
	id    transcript.Key
	usage [4]uint32
}

const (
	figureBits = 1<<30 - 1
	markBit    = 1 << 31 // in usage[0]: a side message; in usage[1]: it moves counters; in usage[2]: it is of today
)

// Compaction is one that the file held, and whether it moves counters.
type Compaction struct {
	transcript.Compaction
	Counts bool
}

// Later is one change that came after the file was read whole. It moves counters;
// Fresh is the number of compactions that were not in the file before.
type Later struct {
	Messages    []transcript.Message
	Compactions []transcript.Compaction
	Fresh       int
}

// Begin keeps a file read from its beginning. As history it moves counters only
// where it happened after the state directory was made; today is when the present day began, 0 while that is not known.
func (b *Backlog) Begin(c *transcript.Change, created, today transcript.Instant) {
	b.today = today
	messages := Once(c.Messages)
	b.Messages = make([]Record, len(messages))
	for i := range messages {
		m := &messages[i]
		b.Messages[i] = newRecord(m, m.At > created, today != 0 && m.At >= today)
	}
	b.Compactions = make([]Compaction, len(c.Compactions))
	for i, e := range c.Compactions {
		b.Compactions[i] = Compaction{e, e.At > created}
	}
}

// Grow keeps what was appended since.
func (b *Backlog) Grow(c *transcript.Change, fresh int) {
	if len(c.Messages)+len(c.Compactions) > 0 {
		b.Later = append(b.Later, Later{slices.Clone(c.Messages), slices.Clone(c.Compactions), fresh})
	}
}

// Billed keeps the newest bills of the file.
func (b *Backlog) Billed(bills []transcript.Bill) {
	b.Bills = append(b.Bills, bills...)
	b.Bills = b.Bills[max(0, len(b.Bills)-maxBills):]
}

// Copied reports whether a compaction names another file as its origin.
func (b *Backlog) Copied() bool {
	for i := range b.Compactions {
		if b.Compactions[i].Copied {
			return true
		}
	}
	for i := range b.Later {
		for j := range b.Later[i].Compactions {
			if b.Later[i].Compactions[j].Copied {
				return true
			}
		}
	}
	return false
}

func newRecord(m *transcript.Message, counts, today bool) Record {
	r := Record{
		id: m.ID,
		usage: [4]uint32{
			figure(m.Usage.Input),
			figure(m.Usage.CacheCreation),
			figure(m.Usage.CacheRead),
			figure(m.Usage.Output),
		},
	}
	if m.Side {
		r.usage[0] |= markBit
	}
	if counts {
		r.usage[1] |= markBit
	}
	if today {
		r.usage[2] |= markBit
	}
	return r
}

// longAgo is a time before any day that is asked for.
const longAgo = transcript.Instant(1)

func figure(n int64) uint32 { return uint32(max(0, min(n, figureBits))) }

// Message returns one of Messages, and whether it changes counters. Its time is
// reduced to the beginning of the day that was passed to Begin, if it was on that
// day, and to long ago otherwise.
func (b *Backlog) Message(i int) (m transcript.Message, counts bool) {
	r := &b.Messages[i]
	u := func(i int) int64 { return int64(r.usage[i] & figureBits) }
	m = transcript.Message{
		ID: r.id,
		At: longAgo,
		Usage: transcript.Usage{
			Input:         u(0),
			CacheCreation: u(1),
			CacheRead:     u(2),
			Output:        u(3),
		},
	}
	m.Side = r.usage[0]&markBit != 0
	if r.usage[2]&markBit != 0 {
		m.At = b.today
	}
	return m, r.usage[1]&markBit != 0
}

// Once gives each message of a file that was read whole a single time, with its
// last figures: a message whose lines do not stand together is listed again with
// what it said before.
func Once(messages []transcript.Message) []transcript.Message {
	var last map[transcript.Key]transcript.Usage
	for i := range messages {
		if m := &messages[i]; m.Was != (transcript.Usage{}) {
			if last == nil {
				last = map[transcript.Key]transcript.Usage{}
			}
			last[m.ID] = m.Usage
		}
	}
	if last == nil {
		return messages
	}
	single := make([]transcript.Message, 0, len(messages))
	for _, m := range messages {
		if m.Was != (transcript.Usage{}) {
			continue
		}
		if u, again := last[m.ID]; again {
			m.Usage = u
		}
		single = append(single, m)
	}
	return single
}
