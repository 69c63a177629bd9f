package tally

import (
	"slices"
	"time"

	"sm/transcript"
	"sm/transcript/clients"
)

// Counters are all figures that only grow. They count what happened since
// the state directory was made.
type Counters struct {
	Sums
	Lines struct{ Good, Bad uint64 } // transcript lines read, history included
	Bytes uint64                     // transcript bytes read, history included
	Cost  Cost
	Today Today
	// Bills are what agents did again after boundaries, by kind; Dear is what
	// the newest bills of compactions came to, in tokens read again.
	Bills [3]BillTotals
	Dear  []int64
	// Others are the parts of Sums that belong to clients other than [clients.Claude], in
	// the order in which they came.
	Others []Part
}

// Cost is the cost that clients reported, in US dollars; Known means that one has reported.
type Cost struct {
	USD   float64
	Known bool
}

// Add adds what was spent.
func (c *Cost) Add(usd float64) {
	c.USD += usd
	c.Known = true
}

// Estimate is a cost by configured prices. Unpriced means that it lacks the tokens of a
// model without a price.
type Estimate struct {
	Cost
	Unpriced bool
}

// Today is what was used since local midnight: tokens by the times of their
// messages, costs as they are reported. Kept is the estimate for the tokens of files that
// no longer exist, and for those before the total from which counting a client's costs began.
type Today struct {
	Begins, Ends transcript.Instant
	Tokens       uint64
	Cost         Cost
	Kept         Estimate
}

// BillTotals sums up what agents did again after boundaries of one kind: calls
// of Read, those of files read before, and the tokens that these brought.
type BillTotals struct{ Reads, Rereads, Tokens uint64 }

// Clone copies, and gives histograms that never counted their buckets.
func (c Counters) Clone() Counters {
	c.Sums = c.Sums.Clone()
	c.Others = slices.Clone(c.Others)
	for i := range c.Others {
		c.Others[i].Sums = c.Others[i].Clone()
	}
	return c
}

// Rest is what no part of the others holds: that of [clients.Claude].
func (c *Counters) Rest() Part {
	p := Part{Client: clients.Claude, Sums: c.Sums.Clone()}
	for i := range c.Others {
		p.subtract(&c.Others[i].Sums)
	}
	return p
}

// Part returns the part of a client, nil for [clients.Claude], which has the rest.
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

// Spend adds what a message of a client cost more than before.
func (c *Counters) Spend(m *transcript.Message, client string) {
	c.Tokens = c.Tokens.Plus(growth(m))
	if p := c.Part(client); p != nil {
		p.Tokens = p.Tokens.Plus(growth(m))
	}
}

// growth is what a message cost more than before. A figure of it that fell has none.
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

// Attempted counts compactions that an agent of a client began, by trigger, and its storms.
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

// Read counts the lines by which a file that was like this before has grown.
func (c *Counters) Read(was, now *transcript.Session) {
	c.Lines.Good += uint64(max(0, now.Lines-now.Bad-(was.Lines-was.Bad)))
	c.Lines.Bad += uint64(max(0, now.Bad-was.Bad))
	c.Bytes += uint64(max(0, now.Bytes-was.Bytes))
}

// Midnight begins another day where the present one has ended, and reports
// whether it has. The day is that of the place, nil for UTC.
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

// SpentToday returns what a message cost more than before, and counts it if it is of today.
func (c *Counters) SpentToday(m *transcript.Message) transcript.Usage {
	u := growth(m)
	if m.At == 0 || m.At >= c.Today.Begins {
		c.Today.Tokens += uint64(u.Context() + u.Output)
	}
	return u
}

// Billed adds by how much a bill has grown.
func (c *Counters) Billed(was, now *transcript.Bill) {
	t := &c.Bills[now.Kind]
	t.Reads += uint64(max(0, now.Reads-was.Reads))
	t.Rereads += uint64(max(0, now.Rereads-was.Rereads))
	t.Tokens += uint64(max(0, now.Tokens-was.Tokens))
}
