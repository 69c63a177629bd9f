package alerts

import (
	"math"
	"slices"
)

const (
	// strata is how many numbers of replies left there are at which the errors of forecasts are collected: see stratum.
	strata = 6
	// foreseenKept is how many forecasts of a cycle are kept: as many as the farthest stratum looks back.
	foreseenKept = 81
	// errorsKept is how many errors of one stratum are kept, errorsNeeded how many there must be before they take the
	// place of the built-in ones.
	errorsKept   = 100
	errorsNeeded = 30
	// usualGrowth is by how many tokens a reply makes a context grow, over all agents of public transcripts; agentWeight
	// is how many replies of an agent's own weigh as much as what all agents on the machine do, poolWeight how many
	// of theirs weigh as much as usualGrowth, and cycleFade what weight a cycle keeps with each that ends after it.
	// TestForecastReplies measures what they are good for.
	usualGrowth = 1600
	agentWeight = 60
	poolWeight  = 200
	cycleFade   = 0.95
	// gentlest is how much a trend grows at least where the replies left grow, both as logarithms: without it one trend
	// could stand for many numbers of replies.
	gentlest = 0.15
)

// stratum are the numbers of replies left.
func stratum() [strata]int { return [...]int{3, 5, 10, 20, 40, 80} }

// usualErrors are the quantiles 10, 50 and 90 percent of the errors (see Calibration) of forecasts on public transcripts, by
// stratum: before automatic compactions, and before all other sizes at which a client might have compacted.
func usualErrors() bands {
	return bands{
		{-1.36, -1.22, -1.07, -1.00, -1.05, -1.15},
		{-0.15, -0.20, -0.26, -0.30, -0.34, -0.38},
		{1.75, 1.50, 1.04, 0.73, 0.25, 0.02},
	}
}

// Calibration is what all agents on the machine have taught of forecasts. Its size is bounded.
type Calibration struct {
	// Steps are the tokens by which a reply made a context grow, over the cycles of all agents that have ended; newer ones
	// weigh more.
	Steps Series
	// Errors are of the forecasts that were made when 3, 5, 10, 20, 40 and 80 replies were left before an automatic
	// compaction, the newest last, at most 100 of each. An error is the natural logarithm of the trend (see trend) divided
	// by what came true, in hundredths, divided by the trend's wildness.
	Errors [strata][]int16
}

func (c *Calibration) clone() Calibration {
	d := *c
	for k := range d.Errors {
		d.Errors[k] = slices.Clone(d.Errors[k])
	}
	return d
}

// usual is by how many tokens a reply makes the context of any agent grow.
func (c *Calibration) usual() float64 {
	return (max(0, c.Steps.Sum) + poolWeight*usualGrowth) / (c.Steps.Weight + poolWeight)
}

// trend is a forecast that goes by the mean alone: of so many replies. Wildness is by how much it may err, as a share of
// what is usual: little where all replies of an agent add about the same.
type trend struct{ replies, wildness float64 }

// score is the error of a trend when so many replies were left, in hundredths.
func (p trend) score(left int) int16 {
	return hundredths(math.Log(p.replies/float64(left)) / p.wildness)
}

func hundredths(x float64) int16 { return int16(math.Round(100 * x)) }

// Foreseen is a trend as it is kept, in hundredths: the natural logarithm of the replies, and the wildness, 0 where
// none could be made.
type Foreseen [2]int16

func (f Foreseen) trend() (p trend, known bool) {
	return trend{math.Exp(float64(f[0]) / 100), float64(f[1]) / 100}, f[1] > 0
}

// bands are quantiles of the errors of trends, by stratum: 10, 50 and 90 percent of them are smaller.
type bands [3][strata]float64

// sorted are the errors of past cycles in order, by stratum.
func (c *Calibration) sorted() (all [strata][]int16) {
	for k := range all {
		all[k] = slices.Sorted(slices.Values(c.Errors[k]))
	}
	return all
}

// bandsOf makes bands from sorted errors. A stratum that has few takes those of the nearest one that has enough.
func bandsOf(sorted [strata][]int16) bands {
	b := usualErrors()
	for k := range strata {
		from := -1
		for j := range strata {
			if len(sorted[j]) >= errorsNeeded && (from < 0 || abs(j-k) < abs(from-k)) {
				from = j
			}
		}
		if from < 0 {
			continue
		}
		for i, q := range quantiles(sorted[from]) {
			b[i][k] = q / 100
		}
	}
	return b
}

func abs(n int) int { return max(n, -n) }

// quantiles are those of 10, 50 and 90 percent of what comes next, made from what has come so far: of n figures in order the
// outer ones are the next beyond 0.1·(n+1) and 0.9·(n+1), so that at least four in five of those to come lie between them.
func quantiles(sorted []int16) (q [3]float64) {
	n := len(sorted)
	low, high := (n+1)/10, (9*(n+1)+9)/10
	q[0], q[2] = float64(sorted[max(0, low-1)]), float64(sorted[min(n, high)-1])
	q[1] = (float64(sorted[(n-1)/2]) + float64(sorted[n/2])) / 2
	return q
}

// around says how many replies are left: as many as make a trend like this one usual. Low and High leave out
// those where nine forecasts out of ten are smaller, or larger.
func (b *bands) around(p trend) Range {
	at := func(i int) float64 { return min(p.left(&b[i]), farthest) }
	return Range{Low: at(2), Likely: at(1), High: at(0), Known: true}
}

// left is how many replies are left if the error of the forecast is that of the band.
func (p trend) left(band *[strata]float64) float64 {
	x := math.Log(p.replies)
	t, y := 0.0, 0.0 // the replies left of a stratum, and the trend then, as logarithms
	for k, left := range stratum() {
		t0, y0 := t, y
		t = math.Log(float64(left))
		y = t + band[k]*p.wildness
		if k > 0 {
			y = max(y, y0+gentlest*(t-t0)) // the more are left, the larger is the trend
		}
		if x <= y && k > 0 {
			return math.Exp(t0 + (t-t0)*(x-y0)/(y-y0))
		} else if x <= y {
			break
		}
	}
	return math.Exp(t + x - y) // nearer than all strata, or farther: in proportion to the outermost
}

// forecaster makes the forecasts of all agents.
type forecaster struct {
	Calibration
	sorted [strata][]int16 // its errors: sorting them anew for each that comes would take longer than all the rest
	bands  bands           // follow from them
}

// Calibrate has forecasts go by what another engine has learnt, in place of all that this one has.
func (e *Engine) Calibrate(c Calibration) { e.forecaster.restore(c) }

func (f *forecaster) restore(c Calibration) {
	f.Calibration, f.sorted = c.clone(), c.sorted()
	f.bands = bandsOf(f.sorted)
}

// of says how far an agent's compaction is when its context can grow by rest tokens.
func (f *forecaster) of(a *AgentState, rest float64) Forecast {
	if rest <= 0 {
		done := Range{Known: true}
		return Forecast{Replies: done, Turns: done, Active: done}
	}
	all := Forecast{Turns: a.Growth.turns(rest), Replies: f.replies(a, rest)}
	all.Active = all.Replies
	all.Active.scale(a.Growth.secondsPerReply())
	return all
}

// replies is the part of that which is in replies.
func (f *forecaster) replies(a *AgentState, rest float64) Range {
	if rest <= 0 {
		return Range{Known: true}
	}
	p, grows := a.Growth.trend(rest, f.usual())
	if !grows {
		return Range{}
	}
	return f.bands.around(p)
}

// foresee keeps the trend with a reply, until the compaction shows what would have been true. Rest is 0 or less where the
// context should have been compacted, and not a number where that is not known.
func (f *forecaster) foresee(a *AgentState, rest float64) {
	var x Foreseen
	if p, grows := a.Growth.trend(rest, f.usual()); grows && !math.IsNaN(rest) {
		x = Foreseen{hundredths(math.Log(p.replies)), hundredths(p.wildness)}
	}
	a.Foreseen = append(newest(a.Foreseen, foreseenKept-1), x)
}

// close ends a cycle: what it adds to the usual growth is known, and what its forecasts missed once it is known what ended
// it. All forecasts change at such times alone, so that one agent's reply changes only what is shown of that agent.
func (f *forecaster) close(a *AgentState, compacted bool) {
	a.Missed = nil
	if compacted {
		a.Missed = a.missed()
	}
	a.Foreseen, a.Beyond = a.Foreseen[:0], 0
	if steps := a.Growth.Cycle.Steps; steps.N >= stepsNeeded {
		f.Steps.fade(cycleFade)
		f.Steps.plus(steps)
	}
}

// learn takes what the cycle before has taught, once it is known that the client ended it by itself.
func (f *forecaster) learn(a *AgentState) {
	if len(a.Missed) == 0 {
		return
	}
	for k, m := range a.Missed[:min(len(a.Missed), strata)] { // those that the cycle was too short for are missing
		if p, known := m.trend(); known {
			f.note(k, p.score(stratum()[k]))
		}
	}
	f.bands = bandsOf(f.sorted)
	a.Missed = nil
}

// note adds an error to a stratum; the oldest makes room for it.
func (f *forecaster) note(k int, x int16) {
	all, sorted := f.Errors[k], f.sorted[k]
	for _, old := range all[:max(0, len(all)+1-errorsKept)] {
		i, _ := slices.BinarySearch(sorted, old)
		sorted = slices.Delete(sorted, i, i+1)
	}
	i, _ := slices.BinarySearch(sorted, x)
	f.Errors[k], f.sorted[k] = newest(append(all, x), errorsKept), slices.Insert(sorted, i, x)
}

// missed are the forecasts of a cycle that is over, by stratum.
func (a *AgentState) missed() (all []Foreseen) {
	for _, left := range stratum() {
		if i := len(a.Foreseen) - 1 - left; i >= 0 {
			all = append(all, a.Foreseen[i])
		}
	}
	return all
}
