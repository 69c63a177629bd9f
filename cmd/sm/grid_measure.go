package main

import (
	"math"
	"slices"

	"sm/transcript"
)

// What makes a notice one in time, and what one in vain costs. They are part of the stated measure.
const (
	// A warning is heard at the end of a turn, so that the next one can go into a handoff.
	timelyTurns = 2
	// A critical notice is heard between two tool calls; writing a document and handing over takes some.
	timelyReplies = 10
	// vainCost is how much a cycle costs that was warned without need, beside one compacted without notice in time.
	vainCost = 0.25
)

// figures are what a pair of thresholds is worth on some sessions. Shares are 0 where there is nothing to share.
type figures struct {
	// Compactions are those that nobody made by hand. Warned came after any notice, Timely after one in time.
	Compactions int     `json:"compactions"`
	Warned      int     `json:"warned"`
	Timely      int     `json:"timely"`
	Coverage    float64 `json:"coverage"` // Timely of Compactions
	// Used is how full contexts were at the first notice in time, as a share of their size at the compaction: a mean.
	Used float64 `json:"used"`
	// Open are the cycles that no compaction ended, Vain those of them with a notice.
	Open      int     `json:"open_cycles"`
	Vain      int     `json:"warned_in_vain"`
	VainShare float64 `json:"vain_share"`
	// From the first notice to the compaction, of those Warned.
	Turns   lead `json:"turns_ahead"`
	Replies lead `json:"replies_ahead"`
	Minutes lead `json:"minutes_ahead"`

	Measure float64 `json:"measure"`
	// StandardError is that of the measure, for so few cycles.
	StandardError float64 `json:"standard_error"`
}

// lead is how far ahead notices came; null without any.
type lead struct {
	Median *float64 `json:"median"`
	Worst  *float64 `json:"worst"`
}

func leadOf(all []float64) lead {
	if len(all) == 0 {
		return lead{}
	}
	slices.Sort(all)
	return lead{new(medianOf(all)), &all[0]}
}

// judge measures what was said in the sessions of one half.
//
//	measure = coverage × used − vainCost × vain share
func (r *trial) judge(said []notices, half int) figures {
	f, ahead := r.sum(said, half)
	f.Turns, f.Replies, f.Minutes = leadOf(ahead.turns), leadOf(ahead.replies), leadOf(ahead.minutes)
	return f
}

// leads are how far each first notice came before its compaction.
type leads struct{ turns, replies, minutes []float64 }

func (r *trial) sum(said []notices, half int) (f figures, ahead leads) {
	squares := 0.0
	for i := range r.cycles {
		c := &r.cycles[i]
		s := &r.sessions[c.session]
		if s.half != half {
			continue
		}
		first := said[i].warning
		if first == none {
			first = said[i].critical
		}
		switch {
		case c.end == none && c.read:
			f.Open++
			if first != none {
				f.Vain++
			}
		case c.end == none || c.trigger == transcript.Manual:
		default:
			f.Compactions++
			if first == none {
				break
			}
			f.Warned++
			at, end := &s.beats[first], &s.beats[c.end]
			ahead.turns = append(ahead.turns, float64(end.turns-at.turns))
			ahead.replies = append(ahead.replies, float64(end.replies-at.replies))
			ahead.minutes = append(ahead.minutes, float64(end.work-at.work)/60)
			if b := s.timely(said[i], end); b != nil {
				f.Timely++
				used := c.used(b)
				f.Used += used
				squares += used * used
			}
		}
	}
	won := share(f.Used, f.Compactions) // coverage × used
	f.Used = share(f.Used, f.Timely)
	f.Coverage, f.VainShare = share(float64(f.Timely), f.Compactions), share(float64(f.Vain), f.Open)
	f.Measure = won - vainCost*f.VainShare
	spread := share(share(squares, f.Compactions)-won*won, f.Compactions) + vainCost*vainCost*share(f.VainShare*(1-f.VainShare), f.Open)
	f.StandardError = math.Sqrt(max(0, spread))
	return f, ahead
}

// timely is the beat of the first notice that came in time, nil for none.
func (s *played) timely(n notices, end *beat) *beat {
	if n.warning != none && end.turns-s.beats[n.warning].turns >= timelyTurns {
		return &s.beats[n.warning]
	}
	if n.critical != none && end.replies-s.beats[n.critical].replies >= timelyReplies {
		return &s.beats[n.critical]
	}
	return nil
}

// used is how much of the context that was compacted stood there at a notice, 0..1.
func (c *cycle) used(b *beat) float64 {
	if c.pre <= 0 {
		return 1 // the size is not known: nothing can be said against it
	}
	return min(1, float64(b.tokens)/float64(c.pre))
}

func share(part float64, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return part / float64(whole)
}

// knee is the step at which a falling curve lies highest above the straight line between its ends, as the method
// "Kneedle" has it (Satopää and others, 2011): before it little is lost, after it much. A curve that does not fall has
// its knee at its end; one without steps has none.
func knee(steps []int64, curve []float64) (at int) {
	last := len(steps) - 1
	if last < 0 || curve[last] >= curve[0] {
		return last
	}
	most := 0.0
	for i := range steps {
		x := float64(steps[i]-steps[0]) / float64(steps[last]-steps[0])
		if above := curve[i] - curve[0] - x*(curve[last]-curve[0]); above > most {
			at, most = i, above
		}
	}
	return at
}
