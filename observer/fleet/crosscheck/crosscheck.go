// Package crosscheck compares what a client's status line reports of its context with what its transcript shows.
//
// Both may come late and round, so that a report agrees with any reading that was the newest at about its time.
//
// It knows no agent and keeps nothing: which readings a report is compared with is for observer/fleet to say.
package crosscheck

import (
	"cmp"
	"slices"
	"time"

	"sm/transcript"
)

// Sample is one report of the status line, and what became of the comparison with the
// transcript.
type Sample struct {
	At transcript.Instant
	// Tokens and Percent are 0 where the report did not know them, as before the first
	// reply.
	Tokens, Window int64
	Percent        int
	Model          string
	// Rough means that Tokens are computed from the percentage.
	Rough bool
	// Agrees means that the transcript had the same size. Near is the size in the
	// transcript within 5 s of the sample, 0 for none.
	Agrees bool
	Near   int64
	// Back means that the client had shown the newest reading before and shows less
	// since: its conversation was rewound. Shown means that the transcript has the
	// rewind, which it gets with the next prompt. Without Tokens the client went back
	// to the very beginning.
	Back, Shown bool
}

// Lag is how far apart sample and transcript may speak of one reply.
const Lag = transcript.Instant(5 * time.Second)

// Compare ties the sample to readings of the transcript, and reports whether that says
// something new. It speaks of one that was the newest at a time within 5 s of its own.
func (x *Sample) Compare(readings []transcript.Reading) (news bool) {
	was := *x
	if x.Tokens == 0 || x.Agrees || x.Back {
		return false
	}
	all := slices.Clone(readings) // forks hold their own records before those that they copy
	slices.SortStableFunc(all, func(r, q transcript.Reading) int { return cmp.Compare(r.At, q.At) })
	for i, r := range all {
		if r.At > x.At+Lag {
			break
		}
		if i+1 < len(all) && all[i+1].At != 0 && all[i+1].At < x.At-Lag {
			continue
		}
		x.Near = r.Tokens
		x.Agrees = x.Agrees || x.is(r)
	}
	return *x != was
}

// is reports whether sample and reading have the same figures.
func (x *Sample) is(r transcript.Reading) bool {
	window := x.Window
	if window == 0 && x.Rough {
		window = 100 * x.Tokens / int64(max(1, x.Percent))
	}
	return (x.Rough || r.Tokens == x.Tokens) && Near(transcript.Window{Tokens: window}.Percent(r.Tokens), x.Percent)
}

// Near reports whether two percentages are equal but for rounding; 0 is unknown.
func Near(a, b int) bool { return a == 0 || b == 0 || max(a-b, b-a) <= 1 }

// How a sample stands to the transcript.
const (
	None    = ""        // there is nothing to compare
	Agrees  = "agrees"  // both say the same
	Lagging = "lagging" // one of them may be about to
	Drift   = "drift"   // they do not
)

// Check compares the sample with the transcript. The drift is the number of tokens
// that the sample has more; it is known for agreement (0) and drift.
func (x *Sample) Check(now transcript.Instant) (state string, drift int64, known bool) {
	switch {
	case x.Tokens == 0:
		return None, 0, false
	case x.Agrees || x.Back:
		return Agrees, 0, true
	case now < x.At+Lag:
		return Lagging, 0, false
	case x.Near == 0:
		return None, 0, false
	}
	return Drift, x.Tokens - x.Near, true
}
