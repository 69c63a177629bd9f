package alerts

import (
	"math"
	"time"
)

const (
	// priorTurns and priorSteps are how much earlier cycles weigh at most, as so many
	// turns or readings of this one; they fade as if those had come first.
	priorTurns = 20
	priorSteps = 60
	// turnsNeeded and stepsNeeded are how many must be known, of any cycle.
	turnsNeeded = 2
	stepsNeeded = 5
	// spread is how many standard deviations a range spans to either side.
	spread = 1.28
	// farthest is the longest forecast, in turns or in replies, nearest the shortest in replies.
	farthest = 10_000
	nearest  = 0.25
	// tamest is how small the errors of an agent whose replies all add the same are taken to be, as a share of the usual ones.
	tamest = 0.3
)

// Range is a figure that is likely, with the bounds between which it lies four
// times out of five, if the context goes on to grow as it has.
type Range struct {
	Low, Likely, High float64
	// Known is false when too little has been seen, or when the context does not
	// grow; the figures are 0 then.
	Known bool
}

// Forecast says how far the compaction is.
type Forecast struct {
	// Replies is how many replies of the model the context still takes; it is known as soon as the context and the
	// threshold are.
	Replies Range
	// Turns says in which turn it comes, the present or next one being the first; 0
	// when the threshold has been reached.
	Turns Range
	// Active is the time that the agent will have worked by then, in seconds.
	Active Range
}

// forecast extrapolates the agent's growth. It knows nothing without a compaction
// threshold or a context.
func (li *limits) forecast(a *AgentState) Forecast {
	rest := li.rest(a)
	if math.IsNaN(rest) {
		return Forecast{}
	}
	return li.forecaster.of(a, rest)
}

// rest is by how many tokens the context can grow until it is compacted, not a number where that is not known. Of sizes that
// were seen it goes by one of the smallest: a reply seldom ends at the threshold. A client that compacts at 155,000 tokens
// is seen to do so at 155,100 and at 174,000.
func (li *limits) rest(a *AgentState) float64 {
	r, known := a.current()
	at, source := li.threshold(a.Agent, r)
	if source == ThresholdSeen {
		at = li.seen(a.Agent, r).early
	}
	if source == ThresholdAssumed && a.Beyond > 1 {
		at = max(at, r.Window) // it was assumed wrongly: this client waits until a request is refused
	}
	if !known || at == 0 {
		return math.NaN()
	}
	return float64(at - r.Tokens - r.Cleared)
}

// trend says after how many replies a context has grown by rest tokens if it grows as it has. How much the agent's replies
// add is drawn towards what those of all agents do, the more so the more they differ.
func (g *Growth) trend(rest, usual float64) (f trend, grows bool) {
	steps, _ := g.steps()
	weight, wildness := float64(agentWeight), 1.0
	if steps.N >= stepsNeeded {
		if steps.Sum <= 0 {
			return f, false
		}
		wildness = min(1, steps.variation())
		weight *= wildness
	}
	mean := (max(0, steps.Sum) + weight*usual) / (steps.Weight + weight)
	return trend{max(nearest, min(rest/mean, farthest)), max(tamest, math.Sqrt(wildness))}, true
}

// steps are the replies of this cycle and, the fewer those are, of earlier ones; earlier is the share of these that counts.
func (g *Growth) steps() (all Series, earlier float64) {
	all = g.Cycle.Steps
	before := g.Earlier.Steps.cut(priorSteps * math.Pow(stepFade, float64(all.N)))
	all.plus(before)
	if w := g.Earlier.Steps.Weight; w > 0 {
		earlier = before.Weight / w
	}
	return all, earlier
}

// secondsPerReply is how long the agent works for a reply, 0 while too few are known.
func (g *Growth) secondsPerReply() float64 {
	steps, earlier := g.steps()
	if steps.N < stepsNeeded {
		return 0
	}
	return (g.Cycle.Seconds + g.Earlier.Seconds*earlier) / steps.Weight
}

// turns says in which turn the context will have grown by rest tokens.
func (g *Growth) turns(rest float64) Range {
	turns := g.Cycle.Turns
	turns.plus(g.Earlier.Turns.cut(priorTurns * math.Pow(turnFade, float64(turns.N))))
	if turns.N < turnsNeeded {
		return Range{}
	}
	r := turns.until(rest)
	r.shift(turns.overshoot())
	return r
}

// until says after how many figures of a series, and of those to come, their sum
// is rest. The range has two causes: the figures to come vary, and their mean is
// known from few.
func (s Series) until(rest float64) Range {
	n := rest / s.mean()
	if !(n > 0 && n <= farthest) {
		return Range{}
	}
	wide := math.Exp(spread * math.Sqrt(s.variation()*(1/max(n, 1)+s.Weights2/(s.Weight*s.Weight))))
	return Range{Low: n / wide, Likely: n, High: min(n*wide, farthest), Known: true}
}

// variation is the variance of the figures, as a share of their squared mean.
func (s Series) variation() float64 {
	m := s.mean()
	return max(0, s.Squares/s.Weight/(m*m)-1)
}

// overshoot is by how many turns the one in which rest is reached comes later than
// rest says: a turn is whole, and large ones are the likelier to reach it.
func (s Series) overshoot() float64 { return (1 + min(1, s.variation())) / 2 }

func (r *Range) shift(by float64) {
	if r.Known {
		r.Likely += by
		r.High += 2 * by
	}
}

// scale changes the unit; one that is not known leaves nothing known.
func (r *Range) scale(by float64) {
	*r = Range{r.Low * by, r.Likely * by, r.High * by, r.Known && by > 0}
	if !r.Known {
		*r = Range{}
	}
}

// noticeForecast tells the agent, once a cycle, when few replies or turns may be left: that is what the low end of the range says.
func (nt *notices) noticeForecast(a *AgentState, r Reading) {
	o := &nt.options
	if o.ForecastReplies <= 0 && o.ForecastTurns <= 0 || !a.unsaid(KindForecast) {
		return
	}
	within := func(r Range, most int) bool { return most > 0 && r.Known && r.Low <= float64(most) }
	if f := nt.limits.forecast(a); within(f.Replies, o.ForecastReplies) || within(f.Turns, o.ForecastTurns) {
		nt.sayForecast(a, r, f)
	}
}

func (nt *notices) sayForecast(a *AgentState, r Reading, f Forecast) {
	d := a.data()
	up := func(x float64) int { return max(1, int(math.Ceil(x))) }
	d.Turns = up(f.Turns.Likely)
	if f.Replies.Known {
		d.RepliesLow = int(f.Replies.Low)
		d.Replies = max(d.RepliesLow, int(math.Round(f.Replies.Likely)), 1)
		d.RepliesHigh = max(d.Replies, up(f.Replies.High))
	}
	if f.Active.Known {
		d.Minutes = up(f.Active.Likely / time.Minute.Seconds())
	}
	nt.say(a, notice{kind: KindForecast, at: r.At, self: true, data: d})
}
