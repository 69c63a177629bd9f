package tune

import (
	"math"
	"slices"

	"sm/observer/history"
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

// Figures are what a pair of thresholds is worth on some sessions. Shares are 0 where there is nothing to share.
type Figures struct {
	// Compactions counts those that were not manual and whose cycle has a reading.
	// Warned came after any notice, Timely after one in time.
	Compactions int     `json:"compactions"`
	Warned      int     `json:"warned"`
	Timely      int     `json:"timely"`
	Coverage    float64 `json:"coverage"` // Timely of Compactions
	// Used is how full contexts were at the first notice in time, as a share of their size at the compaction: a mean.
	Used float64 `json:"used"`
	// Open are the cycles that are over without a compaction, a clear or a handoff, Vain those of them with a notice.
	Open      int     `json:"open_cycles"`
	Vain      int     `json:"warned_in_vain"`
	VainShare float64 `json:"vain_share"`
	// From the first notice to the compaction, of those Warned.
	Turns   Lead `json:"turns_ahead"`
	Replies Lead `json:"replies_ahead"`
	Minutes Lead `json:"minutes_ahead"`

	Measure float64 `json:"measure"`
	// StandardError is that of the measure, for so few sessions.
	StandardError float64 `json:"standard_error"`
}

// Lead is how far ahead notices came; null without any.
type Lead struct {
	Median *float64 `json:"median"`
	Worst  *float64 `json:"worst"`
}

func leadOf(all []float64) Lead {
	if len(all) == 0 {
		return Lead{}
	}
	slices.Sort(all)
	return Lead{new(history.Median(all)), &all[0]}
}

// everyone selects both halves of the sessions.
const everyone = none

// measure measures what was said in the sessions of one half, or of both.
//
//	measure = coverage × used − vainCost × vain share
func (r *trial) measure(said []notices, half int) Figures {
	var ahead leads
	f := r.sum(said, half, &ahead)
	f.Turns, f.Replies, f.Minutes = leadOf(ahead.turns), leadOf(ahead.replies), leadOf(ahead.minutes)
	return f
}

// leads are how far each first notice came before its compaction.
type leads struct{ turns, replies, minutes []float64 }

func (l *leads) add(from, to *beat) {
	l.turns = append(l.turns, float64(to.turns-from.turns))
	l.replies = append(l.replies, float64(to.replies-from.replies))
	l.minutes = append(l.minutes, float64(to.work-from.work)/60)
}

// sum adds up what came of what was said; ahead may be nil.
func (r *trial) sum(said []notices, half int, ahead *leads) (f Figures) {
	list := r.sort(said, half, false, func(c *cycle, first int32, timely *beat) {
		s := &r.sessions[c.session]
		if first != none {
			f.Warned++
			if ahead != nil {
				ahead.add(&s.beats[first], &s.beats[c.end])
			}
		}
		if timely != nil {
			f.Timely++
		}
	})
	total := totalOf(list)
	f.Compactions, f.Open, f.Vain = total.compactions, total.open, int(total.vain)
	f.Used = Share(total.won, f.Timely)
	f.Coverage, f.VainShare = Share(float64(f.Timely), f.Compactions), Share(total.vain, f.Open)
	f.Measure, f.StandardError = total.measure(), standardError(list)
	if math.IsNaN(f.StandardError) { // one group: only its cycles can be compared
		f.StandardError = fromOne(standardError(r.sort(said, half, true, nil)))
	}
	return f
}

// sort adds up the cycles of a half by the groups of sessions, or each for itself. A
// cycle counts where its compaction happened, if that was not manual and the
// transcript has a reading before it; a cycle without a compaction counts if it is
// over. The result is valid until the next call.
func (r *trial) sort(said []notices, half int, single bool, compacted func(c *cycle, first int32, timely *beat)) []cluster {
	n := r.groups
	if single {
		n = len(r.cycles)
	}
	r.clusters = slices.Grow(r.clusters[:0], n)[:n]
	clear(r.clusters)
	for i := range r.cycles {
		c := &r.cycles[i]
		s := &r.sessions[c.session]
		if half != everyone && s.half != half || !c.read {
			continue
		}
		at := s.group
		if single {
			at = i
		}
		to := &r.clusters[at]
		first := said[i].warning
		if first == none {
			first = said[i].critical
		}
		switch {
		case c.end == none:
			if s.open {
				to.open++
				if first != none {
					to.vain++
				}
			}
		case c.own && c.trigger.Forced():
			to.compactions++
			timely := s.timely(said[i], &s.beats[c.end])
			if timely != nil {
				to.won += c.used(timely)
			}
			if compacted != nil {
				compacted(c, first, timely)
			}
		}
	}
	return r.clusters
}

// compare says by how much one pair is better than another on the same sessions.
func (r *trial) compare(said, other []notices, half int) Difference {
	of := func(single bool) []cluster {
		a := slices.Clone(r.sort(said, half, single, nil))
		for i, b := range r.sort(other, half, single, nil) {
			a[i].won -= b.won
			a[i].vain -= b.vain
		}
		return a
	}
	list := of(false)
	total := totalOf(list)
	d := Difference{total.measure(), standardError(list)}
	if math.IsNaN(d.StandardError) {
		d.StandardError = fromOne(standardError(of(true)))
	}
	return d
}

// cluster is what came of some cycles that are not independent of each other: won adds up how full contexts were at
// notices in time, as a share of their size at the compaction.
type cluster struct {
	compactions, open int
	won, vain         float64
}

func totalOf(list []cluster) (sum cluster) {
	for i := range list {
		c := &list[i]
		sum.compactions, sum.open, sum.won, sum.vain = sum.compactions+c.compactions, sum.open+c.open, sum.won+c.won, sum.vain+c.vain
	}
	return sum
}

func (c *cluster) measure() float64 {
	return Share(c.won, c.compactions) - vainCost*Share(c.vain, c.open)
}

// standardError is that of a measure, or of a difference of two, over clusters: of a sum of two ratios, made linear
// (Cochran, Sampling Techniques, 1977, sections 6.3 and 9A). It is not a number for less than two clusters.
func standardError(list []cluster) float64 {
	total := totalOf(list)
	won, vain := Share(total.won, total.compactions), Share(total.vain, total.open)
	sum, n := 0.0, 0
	for i := range list {
		c := &list[i]
		if c.compactions+c.open == 0 {
			continue
		}
		n++
		z := Share(c.won-won*float64(c.compactions), total.compactions) - vainCost*Share(c.vain-vain*float64(c.open), total.open)
		sum += z * z
	}
	if n < 2 {
		return math.NaN()
	}
	return math.Sqrt(sum * float64(n) / float64(n-1))
}

// fromOne is a figure, or 0 for none.
func fromOne(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
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

// Share is a part of a whole, 0..1; 0 of nothing.
func Share(part float64, whole int) float64 {
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
