package fleet

import (
	"slices"
	"time"

	"sm/transcript"
)

// PreTokensBounds are the upper bounds of Counters.PreTokens, in tokens.
func PreTokensBounds() []float64 {
	return []float64{25e3, 50e3, 75e3, 100e3, 125e3, 150e3, 175e3, 200e3, 300e3, 400e3, 600e3, 800e3, 1e6}
}

// DurationBounds are the upper bounds of Counters.Duration, in seconds.
func DurationBounds() []float64 {
	return []float64{1, 2.5, 5, 10, 20, 30, 45, 60, 90, 120, 180, 300}
}

// observe counts v, which belongs to the first bound that is not below it.
func (h *Histogram) observe(v float64, bounds []float64) {
	i, _ := slices.BinarySearch(bounds, v)
	h.Counts[i]++
	h.Sum += v
}

// clone copies, and gives histograms that never counted their buckets.
func (c Counters) clone() Counters {
	c.PreTokens.Counts = resized(c.PreTokens.Counts, len(PreTokensBounds())+1)
	c.Duration.Counts = resized(c.Duration.Counts, len(DurationBounds())+1)
	return c
}

func resized(counts []uint64, n int) []uint64 {
	sized := make([]uint64, n)
	copy(sized, counts)
	return sized
}

// spend adds what a message cost more than before; where a figure of it fell, the
// counter stands still.
func (c *Counters) spend(u transcript.Usage) {
	c.Tokens.Input += uint64(max(0, u.Input))
	c.Tokens.CacheCreation += uint64(max(0, u.CacheCreation))
	c.Tokens.CacheRead += uint64(max(0, u.CacheRead))
	c.Tokens.Output += uint64(max(0, u.Output))
}

// compacted counts a compaction.
func (c *Counters) compacted(e *transcript.Compaction) {
	c.Compactions[e.Trigger]++
	if e.PreTokens > 0 {
		c.PreTokens.observe(float64(e.PreTokens), PreTokensBounds())
	}
	if e.Millis > 0 {
		c.Duration.observe(float64(e.Millis)/1000, DurationBounds())
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
