// Package tally counts compactions, tokens and costs in plain values: the
// counters of all clients, histograms with fixed bounds, sums of tokens, and
// the part of each client.
//
// Invariants: counters only grow, except when a part is subtracted; a copy
// shares no memory with its original.
//
// The package does not know sessions and stores nothing: observer/fleet decides
// which events count, and when.
package tally

import (
	"slices"

	"sm/transcript"
)

// PreTokensBounds returns the upper bounds of context sizes before compactions,
// in tokens.
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

// DurationBounds returns the upper bounds of the duration of compactions, in
// seconds.
func DurationBounds() []float64 {
	return []float64{1, 2.5, 5, 10, 20, 30, 45, 60, 90, 120, 180, 300}
}

// Histogram counts observations up to each of its bounds. Counts has one
// element more than the bounds: the last one counts larger values.
type Histogram struct {
	Counts []uint64
	Sum    float64
}

// Observe counts v for the first bound that is not below v.
func (h *Histogram) Observe(v float64, bounds []float64) {
	i, _ := slices.BinarySearch(bounds, v)
	h.Counts[i]++
	h.Sum += v
}

// Clone returns a deep copy, in which Counts has its full length.
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

// Sums are the counts of one client, or of all together.
type Sums struct {
	Compactions [4]uint64 // by trigger
	Tokens      transcript.Usage
	PreTokens   Histogram // context sizes before compactions, in tokens
	Duration    Histogram // of compactions, in seconds
}

// Clone returns a deep copy, in which the histograms have their buckets.
func (s Sums) Clone() Sums {
	s.PreTokens = s.PreTokens.Clone(PreTokensBounds())
	s.Duration = s.Duration.Clone(DurationBounds())
	return s
}

// compacted counts a compaction.
func (s *Sums) compacted(e *transcript.Compaction) {
	s.Compactions[e.Trigger]++
	if e.PreTokens > 0 {
		s.PreTokens.Observe(float64(e.PreTokens), PreTokensBounds())
	}
	if e.Millis > 0 {
		s.Duration.Observe(float64(e.Millis)/1000, DurationBounds())
	}
}

// subtract subtracts a part.
func (s *Sums) subtract(part *Sums) {
	for i, n := range part.Compactions {
		s.Compactions[i] -= n
	}
	s.Tokens = s.Tokens.Minus(part.Tokens)
	s.PreTokens.subtract(&part.PreTokens)
	s.Duration.subtract(&part.Duration)
}

// Part has the counters of one client.
type Part struct {
	Client string
	Sums
	// Limits are the newest rate limits of the client's account, for five hours
	// and for seven days.
	Limits [2]transcript.Limit
	// Attempts counts the compactions that its agents began, by trigger, Storms
	// the storms of its agents.
	Attempts [4]uint64
	Storms   uint64
}

// Limited applies newer rate limits.
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
