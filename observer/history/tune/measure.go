package tune

import (
	"cmp"
	"math"

	"sm/observer/history"
)

// The definition of a notice in time, and the cost of one in vain, as parts of
// the measure.
const (
	// A warning reaches the agent at the end of a turn; the next turn can be
	// used for a handoff.
	timelyTurns = 2
	// A critical notice reaches the agent between two tool calls; it needs some
	// replies to write a document and hand over.
	timelyReplies = 10
	// vainCost is the cost of a cycle with a needless notice, relative to one
	// that was compacted without a notice in time.
	vainCost = 0.25
)

// Figures are the results of a pair of thresholds over all sessions. Shares are
// 0 if there are no cases.
type Figures struct {
	// Compactions counts the compactions that were not manual and whose cycle
	// has a reading. Warned counts those after any notice, Timely those after a
	// notice in time.
	Compactions int     `json:"compactions"`
	Warned      int     `json:"warned"`
	Timely      int     `json:"timely"`
	Coverage    float64 `json:"coverage"` // Timely of Compactions
	// Used is the mean size of contexts at the first notice in time, as a share
	// of their size at the compaction.
	Used float64 `json:"used"`
	// Open counts the cycles that ended without a compaction, a clear or a
	// handoff, Vain those of them with a notice.
	Open      int     `json:"open_cycles"`
	Vain      int     `json:"warned_in_vain"`
	VainShare float64 `json:"vain_share"`
	// From the first notice to the compaction, of those Warned.
	Turns   Lead `json:"turns_ahead"`
	Replies Lead `json:"replies_ahead"`
	Minutes Lead `json:"minutes_ahead"`

	Measure float64 `json:"measure"`
	// StandardError is the standard error of Coverage × Used.
	StandardError float64 `json:"standard_error"`
}

// Lead is how far ahead of compactions the notices came; null if there are
// none.
type Lead struct {
	Median *float64 `json:"median"`
	Worst  *float64 `json:"worst"`
}

func leadOf(all []float64) Lead {
	return Lead{history.Median(all), history.NearestRank(all, 0)}
}

// measure returns the results of the notices of a pair:
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

// used returns the size of the context at a notice as a share of the size at
// the compaction, 0 to 1.
func (c *cycle) used(p *point) float64 {
	if c.size <= 0 {
		return 1 // the size is not known
	}
	return min(1, float64(p.tokens)/float64(c.size))
}

// Share returns part as a share of whole, 0 to 1; 0 if whole is 0.
func Share(part float64, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return part / float64(whole)
}
