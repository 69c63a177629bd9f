package fleet

import (
	"slices"
	"time"

	"sm/observer/tally"
	"sm/transcript"
)

// clone copies, and gives histograms that never counted their buckets.
func (c Counters) clone() Counters {
	all := c.sums().Clone()
	c.PreTokens, c.Duration = all.PreTokens, all.Duration
	c.Others = slices.Clone(c.Others)
	for i := range c.Others {
		c.Others[i] = c.Others[i].Clone()
	}
	return c
}

// sums are what all clients have together; the histograms are shared.
func (c *Counters) sums() tally.Part {
	return tally.Part{Client: Claude, Compactions: c.Compactions, Tokens: c.Tokens, PreTokens: c.PreTokens, Duration: c.Duration}
}

// Rest is what no part of the others holds: that of [Claude].
func (c *Counters) Rest() tally.Part {
	p := c.sums().Clone()
	for i := range c.Others {
		p.Subtract(&c.Others[i])
	}
	return p
}

// part is that of a client, nil for [Claude], whose part is the rest.
func (c *Counters) part(client string) *tally.Part {
	if client == Claude {
		return nil
	}
	i := slices.IndexFunc(c.Others, func(p tally.Part) bool { return p.Client == client })
	if i < 0 {
		i = len(c.Others)
		c.Others = append(c.Others, tally.NewPart(client))
	}
	return &c.Others[i]
}

// spend adds what a message of a client cost more than before.
func (c *Counters) spend(u transcript.Usage, client string) {
	c.Tokens.Add(u)
	if p := c.part(client); p != nil {
		p.Tokens.Add(u)
	}
}

// compacted counts a compaction of a client.
func (c *Counters) compacted(e *transcript.Compaction, client string) {
	all := c.sums()
	all.Compacted(e)
	c.Compactions, c.PreTokens, c.Duration = all.Compactions, all.PreTokens, all.Duration
	if p := c.part(client); p != nil {
		p.Compacted(e)
	}
}

// read counts the lines by which a file that was like this before has grown.
func (c *Counters) read(was, now *transcript.Session) {
	c.Lines.Good += uint64(max(0, now.Lines-now.Bad-(was.Lines-was.Bad)))
	c.Lines.Bad += uint64(max(0, now.Bad-was.Bad))
	c.Bytes += uint64(max(0, now.Bytes-was.Bytes))
}

// midnight begins another day where the present one has ended, and reports whether it has. The day is that of the place,
// nil for UTC.
func (c *Counters) midnight(now transcript.Instant, where *time.Location) (begun bool) {
	if now >= c.Today.Begins && now < c.Today.Ends {
		return false
	}
	if where == nil {
		where = time.UTC
	}
	t := now.Time().In(where)
	begins := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, where)
	ends := time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, where)
	c.Today = Today{Begins: transcript.InstantOf(begins), Ends: transcript.InstantOf(ends), Cost: Cost{Known: c.Cost.Known}}
	return true
}

// spentToday counts what a message of today cost more than before.
func (c *Counters) spentToday(m *transcript.Message) {
	if m.At != 0 && m.At < c.Today.Begins {
		return
	}
	u := m.Usage.Minus(m.Was)
	c.Today.Tokens += uint64(max(0, u.Input) + max(0, u.CacheCreation) + max(0, u.CacheRead) + max(0, u.Output))
}
