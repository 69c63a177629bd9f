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
	// farthest is the longest forecast, in turns or in steps.
	farthest = 10_000
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
	// Turns says in which turn it comes, the present or next one being the first; 0
	// when the threshold has been reached.
	Turns Range
	// Active is the time that the agent will have worked by then, in seconds.
	Active Range
}

// forecast extrapolates the agent's growth. It knows nothing without a compaction
// threshold or a context.
func (e *Engine) forecast(a *AgentState) Forecast {
	r, known := a.current()
	at, _ := e.threshold(a.Agent, r)
	if !known || at == 0 {
		return Forecast{}
	}
	return a.Growth.reach(float64(at - r.Tokens - r.Cleared))
}

// reach says when the context will have grown by rest tokens.
func (g *Growth) reach(rest float64) (f Forecast) {
	if rest <= 0 {
		done := Range{Known: true}
		return Forecast{Turns: done, Active: done}
	}
	turns := g.Cycle.Turns
	turns.plus(g.Earlier.Turns.cut(priorTurns * math.Pow(turnFade, float64(turns.N))))
	if turns.N >= turnsNeeded {
		f.Turns = turns.until(rest)
		f.Turns.shift(turns.overshoot())
	}
	steps := g.Cycle.Steps
	earlier := g.Earlier.Steps.cut(priorSteps * math.Pow(stepFade, float64(steps.N)))
	steps.plus(earlier)
	if steps.N >= stepsNeeded {
		seconds := g.Cycle.Seconds
		if w := g.Earlier.Steps.Weight; w > 0 {
			seconds += g.Earlier.Seconds * earlier.Weight / w
		}
		f.Active = steps.until(rest)
		f.Active.scale(seconds / steps.Weight)
	}
	return f
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

// foretell tells the agent, once a cycle, when few turns are left.
func (e *Engine) foretell(a *AgentState, r Reading) {
	if e.options.ForecastTurns <= 0 || a.Said[KindForecast].At != 0 {
		return
	}
	if f := e.forecast(a); f.Turns.Known && f.Turns.Likely <= float64(e.options.ForecastTurns) {
		e.sayForecast(a, r, f)
	}
}

func (e *Engine) sayForecast(a *AgentState, r Reading, f Forecast) {
	d := a.data()
	d.Turns = max(1, int(math.Ceil(f.Turns.Likely)))
	d.Minutes = int(max(1, math.Ceil(f.Active.Likely/time.Minute.Seconds())))
	e.say(a, notice{kind: KindForecast, at: r.At, self: true, data: d})
}
