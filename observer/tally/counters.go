package tally

import (
	"slices"
	"time"

	"sm/transcript"
	"sm/transcript/clients"
)

// Counters has all counters. Except for Today and Dear they only grow.
// They count events since the state directory was created.
type Counters struct {
	Sums
	Lines struct{ Good, Bad uint64 } // transcript lines read, history included
	Bytes uint64                     // transcript bytes read, history included
	Cost  Cost
	Today Today
	// Bills has the repeated work after boundaries, by kind. Dear has the
	// rereads, in tokens, of the newest bills of compactions.
	Bills [3]BillTotals
	Dear  []int64
	// Others has the parts of Sums that belong to clients other than
	// [clients.Claude], in the order in which they appeared.
	Others []Part
}

// Cost is the cost that clients reported, in US dollars; Known means that a
// client has reported one.
type Cost struct {
	USD   float64
	Known bool
}

// Add adds a cost.
func (c *Cost) Add(usd float64) {
	c.USD += usd
	c.Known = true
}

// Estimate is a cost by the configured prices. Unpriced means that the cost of
// a model without a price is missing.
type Estimate struct {
	Cost
	Unpriced bool
}

// Today is the usage since local midnight: tokens by the times of their
// messages, costs by the times of their reports. Kept is the estimated cost of
// the tokens of deleted files, and of tokens before the first total of a
// client.
type Today struct {
	Begins, Ends transcript.Instant
	Tokens       uint64
	Cost         Cost
	Kept         Estimate
}

// BillTotals sums up repeated work after boundaries of one kind: calls that
// read a file, those that read it again, and the tokens of the latter.
type BillTotals struct{ Reads, Rereads, Tokens uint64 }

// Clone returns a deep copy, in which all histograms have their buckets.
func (c Counters) Clone() Counters {
	c.Sums = c.Sums.Clone()
	c.Others = slices.Clone(c.Others)
	for i := range c.Others {
		c.Others[i].Sums = c.Others[i].Clone()
	}
	return c
}

// Rest returns the part of [clients.Claude], which no element of Others has.
func (c *Counters) Rest() Part {
	p := Part{Client: clients.Claude, Sums: c.Sums.Clone()}
	for i := range c.Others {
		p.subtract(&c.Others[i].Sums)
	}
	return p
}

// Part returns the part of a client, which it creates if necessary; nil for
// [clients.Claude].
func (c *Counters) Part(client string) *Part {
	if client == clients.Claude {
		return nil
	}
	i := slices.IndexFunc(c.Others, func(p Part) bool { return p.Client == client })
	if i < 0 {
		i = len(c.Others)
		c.Others = append(c.Others, Part{Client: client, Sums: Sums{}.Clone()})
	}
	return &c.Others[i]
}

// Spend adds the growth of a client's message.
func (c *Counters) Spend(m *transcript.Message, client string) {
	c.Tokens = c.Tokens.Plus(growth(m))
	if p := c.Part(client); p != nil {
		p.Tokens = p.Tokens.Plus(growth(m))
	}
}

// growth returns by how much the usage of a message has grown; a value that
// fell counts as 0.
func growth(m *transcript.Message) transcript.Usage {
	u := m.Usage.Minus(m.Was)
	return transcript.Usage{
		Input:         max(0, u.Input),
		CacheCreation: max(0, u.CacheCreation),
		CacheRead:     max(0, u.CacheRead),
		Output:        max(0, u.Output),
	}
}

// Compacted counts a compaction of a client.
func (c *Counters) Compacted(e *transcript.Compaction, client string) {
	c.Sums.compacted(e)
	if p := c.Part(client); p != nil {
		p.compacted(e)
	}
}

// Attempted adds compaction attempts, by trigger, and storms of a client's
// agent. It ignores [clients.Claude].
func (c *Counters) Attempted(client string, attempts [4]uint64, storms uint64) {
	p := c.Part(client)
	if p == nil {
		return
	}
	for i, n := range attempts {
		p.Attempts[i] += n
	}
	p.Storms += storms
}

// Read counts the lines and bytes by which a file has grown from was to now.
func (c *Counters) Read(was, now *transcript.Session) {
	c.Lines.Good += uint64(max(0, now.Lines-now.Bad-(was.Lines-was.Bad)))
	c.Lines.Bad += uint64(max(0, now.Bad-was.Bad))
	c.Bytes += uint64(max(0, now.Bytes-was.Bytes))
}

// Midnight begins a new day if the present one has ended, and reports whether
// it did. where is the time zone, nil for UTC.
func (c *Counters) Midnight(now transcript.Instant, where *time.Location) (begun bool) {
	if now >= c.Today.Begins && now < c.Today.Ends {
		return false
	}
	if where == nil {
		where = time.UTC
	}
	t := now.Time().In(where)
	begins := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, where)
	ends := time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, where)
	c.Today = Today{Begins: transcript.InstantOf(begins), Ends: transcript.InstantOf(ends)}
	return true
}

// SpentToday returns the growth of a message, and counts it if the message is
// of today.
func (c *Counters) SpentToday(m *transcript.Message) transcript.Usage {
	u := growth(m)
	if m.At == 0 || m.At >= c.Today.Begins {
		c.Today.Tokens += uint64(u.Context() + u.Output)
	}
	return u
}

// Billed adds the growth of a bill.
func (c *Counters) Billed(was, now *transcript.Bill) {
	t := &c.Bills[now.Kind]
	t.Reads += uint64(max(0, now.Reads-was.Reads))
	t.Rereads += uint64(max(0, now.Rereads-was.Rereads))
	t.Tokens += uint64(max(0, now.Tokens-was.Tokens))
}
