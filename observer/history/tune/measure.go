package tune

import (
	"cmp"
	"math"
	"slices"

	"sm/observer/history"
)

// What makes a notice one in time, and what one in vain costs. They are part of
// the stated measure.
const (
	// A warning is heard at the end of a turn, so that the next one can go into a handoff.
	timelyTurns = 2
	// A critical notice is heard between two tool calls; writing a document and
	// handing over takes some.
	timelyReplies = 10
	// vainCost is how much a cycle costs that was warned without need, beside
	// one compacted without notice in time.
	vainCost = 0.25
)

// Figures are what a pair of thresholds is worth on some sessions. Shares are 0
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
const everyone = -1

// outcome is what came of the notices in a cycle.
type outcome struct {
	cluster
	group int
	// first is the first notice before the compaction end, timely the first that was
	// in time; nil for none.
	first, timely, end *point
}

// outcomes returns what came of the notices of a pair in the cycles of one half.
func (r *trial) outcomes(p pair, half int) (all []outcome) {
	for i := range r.cycles {
		c := &r.cycles[i]
		if half != everyone && c.half != half {
			continue
		}
		warning, critical := c.notices(p)
		o := outcome{group: c.group, end: c.end, first: cmp.Or(warning, critical)}
		switch {
		case c.end != nil:
			o.compactions = 1
			o.timely = timely(warning, critical, c.end)
			if o.timely != nil {
				o.won = c.used(o.timely)
			}
		case o.first != nil:
			o.vain = 1
			fallthrough
		default:
			o.open = 1
		}
		all = append(all, o)
	}
	return all
}

// clusters adds up cycles by the groups of sessions, and each for itself.
func (r *trial) clusters(p pair, half int) (all [2][]cluster) {
	all[0] = make([]cluster, r.groups)
	for _, o := range r.outcomes(p, half) {
		all[0][o.group].add(&o.cluster)
		all[1] = append(all[1], o.cluster)
	}
	return all
}

// estimate returns the sums over cycles, and the standard error of their measure
// over groups of sessions, or over single cycles if there is only one group.
func estimate(all [2][]cluster) (total cluster, e float64) {
	e, known := standardError(all[0])
	if !known {
		e, _ = standardError(all[1])
	}
	return totalOf(all[0]), e
}

// measure returns what notices were worth in the sessions of one half, or of both:
//
//	measure = coverage × used − vainCost × vain share
func (r *trial) measure(p pair, half int) (f Figures) {
	var turns, replies, minutes []float64
	for _, o := range r.outcomes(p, half) {
		if o.timely != nil {
			f.Timely++
		}
		if o.end != nil && o.first != nil {
			f.Warned++
			turns = append(turns, float64(o.end.turns-o.first.turns))
			replies = append(replies, float64(o.end.replies-o.first.replies))
			minutes = append(minutes, float64(o.end.work-o.first.work)/60)
		}
	}
	f.Turns = leadOf(turns)
	f.Replies = leadOf(replies)
	f.Minutes = leadOf(minutes)

	total, e := estimate(r.clusters(p, half))
	f.Compactions = total.compactions
	f.Open = total.open
	f.Vain = int(total.vain)
	f.Used = Share(total.won, f.Timely)
	f.Coverage = Share(float64(f.Timely), f.Compactions)
	f.VainShare = Share(total.vain, f.Open)
	f.Measure = total.measure()
	f.StandardError = e
	return f
}

// compare returns by how much the measure of one pair is above that of another in
// the same sessions.
func (r *trial) compare(p, other pair, half int) Difference {
	all := r.clusters(p, half)
	for i, list := range r.clusters(other, half) {
		for j, c := range list {
			all[i][j].won -= c.won
			all[i][j].vain -= c.vain
		}
	}
	total, e := estimate(all)
	return Difference{total.measure(), e}
}

// cluster sums up cycles that are not independent of each other. won adds up how full
// contexts were at notices in time, as a share of their size at the compaction.
type cluster struct {
	compactions int
	open        int
	won         float64
	vain        float64
}

func (c *cluster) add(other *cluster) {
	c.compactions += other.compactions
	c.open += other.open
	c.won += other.won
	c.vain += other.vain
}

func totalOf(list []cluster) (sum cluster) {
	for i := range list {
		sum.add(&list[i])
	}
	return sum
}

func (c *cluster) measure() float64 {
	return Share(c.won, c.compactions) - vainCost*Share(c.vain, c.open)
}

// standardError is that of a measure, or of a difference of two, over clusters:
// of a sum of two ratios, made linear (Cochran, Sampling Techniques, 1977,
// sections 6.3 and 9A). It is not known for less than two clusters.
func standardError(list []cluster) (e float64, known bool) {
	total := totalOf(list)
	won := Share(total.won, total.compactions)
	vain := Share(total.vain, total.open)
	sum := 0.0
	n := 0
	for i := range list {
		c := &list[i]
		if c.compactions+c.open == 0 {
			continue
		}
		n++
		z := Share(c.won-won*float64(c.compactions), total.compactions) - vainCost*Share(
			c.vain-vain*float64(c.open),
			total.open,
		)
		sum += z * z
	}
	if n < 2 {
		return 0, false
	}
	return math.Sqrt(sum * float64(n) / float64(n-1)), true
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

// knee is the step at which a falling curve lies highest above the straight
// line between its ends, as the method "Kneedle" has it (Satopää and others,
// 2011): before it little is lost, after it much. A curve that does not fall
// has its knee at its end; one without steps has none.
func knee(steps []int64, curve []float64) (at int) {
	last := len(steps) - 1
	if last < 0 || curve[last] >= curve[0] {
		return last
	}
	most := 0.0
	for i := range steps {
		x := float64(steps[i]-steps[0]) / float64(steps[last]-steps[0])
		if above := curve[i] - curve[0] - x*(curve[last]-curve[0]); above > most {
			at = i
			most = above
		}
	}
	return at
}
