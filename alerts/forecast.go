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
	// usualGrowth is by how many tokens a reply makes the context grow, over all agents, and usualWeight how many
	// replies of an agent's own weigh as much. Both, and the table of replyErrors, were chosen on public transcripts by
	// TestForecastReplies.
	usualGrowth = 1600
	usualWeight = 40
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
		return Forecast{Replies: done, Turns: done, Active: done}
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
	f.Replies = replies(steps, rest)
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

// replies says after how many replies a context has grown by rest tokens; nothing is known of one that shrinks. How much an agent's replies add is drawn
// towards what all agents' do; what that leaves wrong is known from past cycles, by how far the compaction seemed.
func replies(steps Series, rest float64) Range {
	if steps.N >= stepsNeeded && steps.Sum <= 0 {
		return Range{}
	}
	mean := (max(0, steps.Sum) + usualWeight*usualGrowth) / (steps.Weight + usualWeight)
	n := min(rest/mean, farthest)
	low, likely, high := replyErrors(n)
	return Range{Low: min(n*low, farthest), Likely: min(n*likely, farthest), High: min(n*high, farthest), Known: true}
}

// replyErrors are the factors by which the plain figure of n replies is corrected, and the bounds between which the truth
// lies four times out of five. Few replies add most of the tokens: so the usual way to the threshold is longer than
// the mean says, the more so the nearer it is.
func replyErrors(n float64) (low, likely, high float64) {
	table := [...][3]float64{ // natural logarithms, for 1/4, 1/2, 1, 2, … 128 replies
		{1.00, 1.75, 2.60}, {0.70, 1.50, 2.20}, {0.45, 1.20, 1.90}, {0.20, 1.00, 1.70}, {-0.05, 0.80, 1.55},
		{-0.25, 0.60, 1.40}, {-0.45, 0.40, 1.25}, {-0.60, 0.25, 1.10}, {-0.60, 0.20, 1.00}, {-0.60, 0.20, 0.95},
	}
	at := max(0, min(math.Log2(n)+2, float64(len(table)-1)))
	i := min(int(at), len(table)-2)
	part := at - float64(i)
	factor := func(k int) float64 { return math.Exp(table[i][k]*(1-part) + table[i+1][k]*part) }
	return factor(0), factor(1), factor(2)
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
