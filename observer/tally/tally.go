// Package tally holds what is counted of compactions, tokens and costs, as
// plain values: the counters of all clients, histograms with fixed bounds, sums
// of tokens, and the part of them that belongs to one client.
//
// Invariants: figures only grow, but where a part is taken off; a copy shares
// nothing with what it was made of.
//
// It knows no session and stores nothing: what counts, and when, is for
// observer/fleet to say.
package tally

import (
	"slices"

	"sm/transcript"
)

// PreTokensBounds are the upper bounds of context sizes before compactions, in tokens.
func PreTokensBounds() []float64 {
	return []float64{
		25e3,
		50e3,
		75e3,
		100e3,
		125e3,
		150e3,
		175e3,
		200e3,
		300e3,
		400e3,
		600e3,
		800e3,
		1e6,
	}
}

// DurationBounds are the upper bounds of how long compactions took, in seconds.
func DurationBounds() []float64 {
	return []float64{1, 2.5, 5, 10, 20, 30, 45, 60, 90, 120, 180, 300}
}

// Histogram counts observations up to each of its bounds. Counts has one element
// more than the bounds that its owner uses: the last one is for all beyond them.
type Histogram struct {
	Counts []uint64
	Sum    float64
}

// Observe counts v, which belongs to the first bound that is not below it.
func (h *Histogram) Observe(v float64, bounds []float64) {
	i, _ := slices.BinarySearch(bounds, v)
	h.Counts[i]++
	h.Sum += v
}

// Clone copies, and gives a histogram that never counted its buckets.
func (h Histogram) Clone(bounds []float64) Histogram {
	counts := h.Counts
	h.Counts = make([]uint64, len(bounds)+1)
	copy(h.Counts, counts)
	return h
}

func (h *Histogram) subtract(part *Histogram) {
	for i, n := range part.Counts {
		h.Counts[i] -= n
	}
	h.Sum -= part.Sum
}

// Tokens are sums over messages.
type Tokens struct{ Input, CacheCreation, CacheRead, Output uint64 }

// Add adds what a message cost more than before; where a figure of it fell, the sum stands
// still.
func (t *Tokens) Add(u transcript.Usage) {
	t.Input += uint64(max(0, u.Input))
	t.CacheCreation += uint64(max(0, u.CacheCreation))
	t.CacheRead += uint64(max(0, u.CacheRead))
	t.Output += uint64(max(0, u.Output))
}

// Part is what belongs to one client.
type Part struct {
	Client              string
	Compactions         [4]uint64 // by trigger
	Tokens              Tokens
	PreTokens, Duration Histogram
	// Limits are the newest rate limits of the client's account: five hours, seven days.
	Limits [2]transcript.Limit
	// Attempts counts compactions that its agents began, by trigger, Storms
	// those of its agents.
	Attempts [4]uint64
	Storms   uint64
}

// Limited takes newer rate limits.
func (p *Part) Limited(limits [2]transcript.Limit) {
	for i, l := range limits {
		if l.Resets != 0 && l.At >= p.Limits[i].At {
			p.Limits[i] = l
		}
	}
}

// Expire drops the limits whose window has ended.
func (p *Part) Expire(now transcript.Instant) {
	for i := range p.Limits {
		if p.Limits[i].Resets <= now {
			p.Limits[i] = transcript.Limit{}
		}
	}
}

// NewPart is a part without anything.
func NewPart(client string) Part { return Part{Client: client}.Clone() }

// Clone copies a part.
func (p Part) Clone() Part {
	p.PreTokens, p.Duration = p.PreTokens.Clone(PreTokensBounds()), p.Duration.Clone(DurationBounds())
	return p
}

// Compacted counts a compaction.
func (p *Part) Compacted(e *transcript.Compaction) {
	p.Compactions[e.Trigger]++
	if e.PreTokens > 0 {
		p.PreTokens.Observe(float64(e.PreTokens), PreTokensBounds())
	}
	if e.Millis > 0 {
		p.Duration.Observe(float64(e.Millis)/1000, DurationBounds())
	}
}

// Subtract takes another part off.
func (p *Part) Subtract(o *Part) {
	for i, n := range o.Compactions {
		p.Compactions[i] -= n
	}
	p.Tokens.Input -= o.Tokens.Input
	p.Tokens.CacheCreation -= o.Tokens.CacheCreation
	p.Tokens.CacheRead -= o.Tokens.CacheRead
	p.Tokens.Output -= o.Tokens.Output
	p.PreTokens.subtract(&o.PreTokens)
	p.Duration.subtract(&o.Duration)
}
