package fleet

import (
	"slices"

	"sm/transcript"
)

// past is the history of one file, kept until all files are known and Settle can
// say which of them was first.
type past struct {
	messages []record
	events   []event
	later    []later
	bills    []transcript.Bill // the newest
}

// pastBills bounds them.
const pastBills = 8

// record is a message in 24 bytes: a gigabyte of transcripts holds some 75,000.
// Figures need 30 of their bits; those above tell the rest.
type record struct {
	id    transcript.Key
	usage [4]uint32
}

const (
	figureBits = 1<<30 - 1
	markBit    = 1 << 31 // in usage[0]: a side message; in usage[1]: it moves counters
)

// event is a compaction and whether it moves counters.
type event struct {
	transcript.Compaction
	counts bool
}

// later is one change that came after the file was read whole. It moves counters;
// fresh is the number of compactions that were not in the file before.
type later struct {
	messages    []transcript.Message
	compactions []transcript.Compaction
	fresh       int
}

// begin keeps a file read from its beginning. As history it moves counters only
// where it happened after the state directory was made.
func (p *past) begin(c *transcript.Change, created transcript.Instant) {
	messages := once(c.Messages)
	p.messages = make([]record, len(messages))
	for i := range messages {
		m := &messages[i]
		p.messages[i] = newRecord(m, m.At > created)
	}
	p.events = make([]event, len(c.Compactions))
	for i, e := range c.Compactions {
		p.events[i] = event{e, e.At > created}
	}
}

// grow keeps what was appended since.
func (p *past) grow(c *transcript.Change, fresh int) {
	if len(c.Messages)+len(c.Compactions) > 0 {
		p.later = append(p.later, later{slices.Clone(c.Messages), slices.Clone(c.Compactions), fresh})
	}
}

// copied reports whether a compaction names another file as its origin.
func (p *past) copied() bool {
	for i := range p.events {
		if p.events[i].Copied {
			return true
		}
	}
	for i := range p.later {
		for j := range p.later[i].compactions {
			if p.later[i].compactions[j].Copied {
				return true
			}
		}
	}
	return false
}

func newRecord(m *transcript.Message, counts bool) record {
	r := record{id: m.ID, usage: [4]uint32{figure(m.Usage.Input), figure(m.Usage.CacheCreation), figure(m.Usage.CacheRead), figure(m.Usage.Output)}}
	if m.Side {
		r.usage[0] |= markBit
	}
	if counts {
		r.usage[1] |= markBit
	}
	return r
}

func figure(n int64) uint32 { return uint32(max(0, min(n, figureBits))) }

func (r *record) message() (m transcript.Message, counts bool) {
	u := func(i int) int64 { return int64(r.usage[i] & figureBits) }
	m = transcript.Message{ID: r.id, Usage: transcript.Usage{Input: u(0), CacheCreation: u(1), CacheRead: u(2), Output: u(3)}}
	m.Side = r.usage[0]&markBit != 0
	return m, r.usage[1]&markBit != 0
}

// once gives each message of a file that was read whole a single time, with its
// last figures: a message whose lines do not stand together is listed again with
// what it said before.
func once(messages []transcript.Message) []transcript.Message {
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
