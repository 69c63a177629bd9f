package tune

import (
	"cmp"
	"math"

	"sm/observer/history"
)

// What makes a notice one in time, and what one in vain costs. They are part of
// the stated measure.
const (
	// A warning reaches the agent at the end of a turn, so that the next one can go into a handoff.
	timelyTurns = 2
	// A critical notice reaches it between two tool calls; writing a document and
	// handing over takes some.
	timelyReplies = 10
	// vainCost is how much a cycle costs that was warned without need, beside
	// one compacted without notice in time.
	vainCost = 0.25
)

// Figures are what a pair of thresholds is worth on all sessions. Shares are 0
// where there is nothing to share.
type Figures struct {
	// Compactions counts those that were not manual and whose cycle has a reading.
	// Warned came after any notice, Timely after one in time.
	Compactions int     `json:"compactions"`
	Warned      int     `json:"warned"`
	Timely      int     `json:"timely"`
	Coverage    float64 `json:"coverage"` // Timely of Compactions
	// Used is how full contexts were at the first notice in time, as a share of
	// their size at the compaction: a mean.
	Used float64 `json:"used"`
	// Open are the cycles that are over without a compaction, a clear or a
	// handoff, Vain those of them with a notice.
	Open      int     `json:"open_cycles"`
	Vain      int     `json:"warned_in_vain"`
	VainShare float64 `json:"vain_share"`
	// From the first notice to the compaction, of those Warned.
	Turns   Lead `json:"turns_ahead"`
	Replies Lead `json:"replies_ahead"`
	Minutes Lead `json:"minutes_ahead"`

	Measure float64 `json:"measure"`
	// StandardError is that of Coverage × Used, for so few compactions.
	StandardError float64 `json:"standard_error"`
}

// Lead is how far ahead notices came; null without any.
type Lead struct {
	Median *float64 `json:"median"`
	Worst  *float64 `json:"worst"`
}

func leadOf(all []float64) Lead {
	return Lead{history.Median(all), history.NearestRank(all, 0)}
}

// measure returns what the notices of a pair were worth:
//
//	measure = coverage × used − vainCost × vain share
func (r *trial) measure(p pair) (f Figures) {
	var used, squares float64
	var turns, replies, minutes []float64
	for i := range r.cycles {
		c := &r.cycles[i]
		warning, critical := c.notices(p)
		first := cmp.Or(warning, critical)
		if c.end == nil {
			f.Open++
			if first != nil {
				f.Vain++
			}
			continue
		}
		f.Compactions++
		if at := timely(warning, critical, c.end); at != nil {
			f.Timely++
			share := c.used(at)
			used += share
			squares += share * share
		}
		if first != nil {
			f.Warned++
			turns = append(turns, float64(c.end.turns-first.turns))
			replies = append(replies, float64(c.end.replies-first.replies))
			minutes = append(minutes, float64(c.end.work-first.work)/60)
		}
	}
	f.Turns = leadOf(turns)
	f.Replies = leadOf(replies)
	f.Minutes = leadOf(minutes)

	f.Used = Share(used, f.Timely)
	f.Coverage = Share(float64(f.Timely), f.Compactions)
	f.VainShare = Share(float64(f.Vain), f.Open)
	won := Share(used, f.Compactions)
	f.Measure = won - vainCost*f.VainShare
	variance := max(0, Share(squares, f.Compactions)-won*won)
	f.StandardError = math.Sqrt(Share(variance, f.Compactions))
	return f
}

// timely returns the first notice in time, or nil.
func timely(warning, critical, end *point) *point {
	if warning != nil && end.turns-warning.turns >= timelyTurns {
		return warning
	}
	if critical != nil && end.replies-critical.replies >= timelyReplies {
		return critical
	}
	return nil
}

// used returns how full the context was at a notice, of its size at the compaction: 0..1.
func (c *cycle) used(p *point) float64 {
	if c.size <= 0 {
		return 1 // the size is not known
	}
	return min(1, float64(p.tokens)/float64(c.size))
}

// Share is a part of a whole, 0..1; 0 of nothing.
func Share(part float64, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return part / float64(whole)
}
