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

// outcome is what came of the notices in a cycle.
type outcome struct {
	cluster
	first  *point // the first notice before the compaction, nil for none
	timely bool   // a notice was in time
	end    *point // the compaction
}

// outcome returns what came of the notices in a cycle, and whether the cycle counts: in
// the session of half where its compaction happened, if that was not manual and there
// is a reading before it; or without a compaction if it is over.
func (r *trial) outcome(c *cycle, given notices, half int) (o outcome, counts bool) {
	s := &r.sessions[c.session]
	if half != everyone && s.half != half || !c.read {
		return o, false
	}
	first := given.warning
	if first == none {
		first = given.critical
	}
	switch {
	case c.end == none && s.open:
		o.open = 1
		if first != none {
			o.vain = 1
		}
		return o, true
	case c.end != none && c.own && c.trigger.Forced():
		o.compactions = 1
		o.end = &s.points[c.end]
		if first != none {
			o.first = &s.points[first]
		}
		if timely := s.timely(given, o.end); timely != nil {
			o.timely = true
			o.won = c.used(timely)
		}
		return o, true
	}
	return o, false
}

// clusters adds up the cycles of a half by the groups of sessions, or each for itself.
func (r *trial) clusters(given []notices, half int, single bool) []cluster {
	list := make([]cluster, max(r.groups, len(r.cycles)))
	for i := range r.cycles {
		c := &r.cycles[i]
		o, counts := r.outcome(c, given[i], half)
		if !counts {
			continue
		}
		if single {
			list[i] = o.cluster
		} else {
			list[r.sessions[c.session].group].add(&o.cluster)
		}
	}
	return list
}

// measure returns what notices were worth in the sessions of one half, or of both:
//
//	measure = coverage × used − vainCost × vain share
func (r *trial) measure(given []notices, half int) (f Figures) {
	var turns, replies, minutes []float64
	for i := range r.cycles {
		o, _ := r.outcome(&r.cycles[i], given[i], half)
		if o.timely {
			f.Timely++
		}
		if o.first != nil {
			f.Warned++
			turns = append(turns, float64(o.end.turns-o.first.turns))
			replies = append(replies, float64(o.end.replies-o.first.replies))
			minutes = append(minutes, float64(o.end.work-o.first.work)/60)
		}
	}
	f.Turns = leadOf(turns)
	f.Replies = leadOf(replies)
	f.Minutes = leadOf(minutes)

	list := func(single bool) []cluster { return r.clusters(given, half, single) }
	total := totalOf(list(false))
	f.Compactions = total.compactions
	f.Open = total.open
	f.Vain = int(total.vain)
	f.Used = Share(total.won, f.Timely)
	f.Coverage = Share(float64(f.Timely), f.Compactions)
	f.VainShare = Share(total.vain, f.Open)
	f.Measure = total.measure()
	f.StandardError = standardErrorOf(list)
	return f
}

// compare returns by how much the measure of some notices is above that of others in
// the same sessions.
func (r *trial) compare(given, other []notices, half int) Difference {
	list := func(single bool) []cluster {
		a := r.clusters(given, half, single)
		for i, b := range r.clusters(other, half, single) {
			a[i].won -= b.won
			a[i].vain -= b.vain
		}
		return a
	}
	total := totalOf(list(false))
	return Difference{total.measure(), standardErrorOf(list)}
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

// standardErrorOf returns the standard error over groups of sessions, over single
// cycles if there is only one group, or 0.
func standardErrorOf(list func(single bool) []cluster) float64 {
	if e, ok := standardError(list(false)); ok {
		return e
	}
	e, _ := standardError(list(true))
	return e
}

// standardError is that of a measure, or of a difference of two, over clusters: of a sum of two ratios, made linear
// (Cochran, Sampling Techniques, 1977, sections 6.3 and 9A). It is not known for less than two clusters.
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
		z := Share(
			c.won-won*float64(c.compactions),
			total.compactions,
		) - vainCost*Share(
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
func (s *session) timely(given notices, end *point) *point {
	if given.warning != none && end.turns-s.points[given.warning].turns >= timelyTurns {
		return &s.points[given.warning]
	}
	if given.critical != none &&
		end.replies-s.points[given.critical].replies >= timelyReplies {
		return &s.points[given.critical]
	}
	return nil
}

// used returns how full the context was at a notice, of its size at the compaction: 0..1.
func (c *cycle) used(p *point) float64 {
	if c.pre <= 0 {
		return 1 // the size is not known
	}
	return min(1, float64(p.event.Tokens)/float64(c.pre))
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
			at = i
			most = above
		}
	}
	return at
}
