package alerts

import (
	"math"
	"time"
)

const (
	// turnFade and stepFade are what weight a turn, or a reading, keeps with each
	// that follows: habits change within a cycle. earlierFade is the same for whole
	// cycles. All were chosen by TestForecastError.
	turnFade    = 0.85
	stepFade    = 0.97
	earlierFade = 0.5
	// outlier is how many times the usual growth a single one counts at most, so
	// that one huge step does not rule a forecast.
	outlier = 5
	pause   = Instant(Pause)
)

// Pause is the longest gap between two signs of life that counts as work.
const Pause = 5 * time.Minute

// Series sums up figures; newer ones weigh more.
type Series struct {
	// N is how many there were; Weight is the sum of their weights, Weights2 that of
	// the squared weights; Sum and Squares are those of the figures, weighted.
	N                              int     `json:",omitzero"`
	Weight, Weights2, Sum, Squares float64 `json:",omitzero"`
}

func (s *Series) add(x, fade float64) {
	if most := outlier * math.Abs(s.mean()); s.N >= 3 && most > 0 {
		x = max(-most, min(x, most))
	}
	s.fade(fade)
	s.N++
	s.Weight++
	s.Weights2++
	s.Sum += x
	s.Squares += x * x
}

func (s *Series) fade(by float64) {
	s.Weight *= by
	s.Weights2 *= by * by
	s.Sum *= by
	s.Squares *= by
}

func (s *Series) plus(o Series) {
	s.N += o.N
	s.Weight += o.Weight
	s.Weights2 += o.Weights2
	s.Sum += o.Sum
	s.Squares += o.Squares
}

func (s *Series) mean() float64 {
	if s.Weight == 0 {
		return 0
	}
	return s.Sum / s.Weight
}

// cut makes the series weigh no more than w.
func (s Series) cut(w float64) Series {
	if s.Weight > w {
		s.fade(w / s.Weight)
		s.Weight = w // whatever the rounding
	}
	return s
}

// Pace is how fast a context grows: by turns, and by readings with the active
// seconds that they took.
type Pace struct {
	Turns, Steps Series  `json:",omitzero"`
	Seconds      float64 `json:",omitzero"` // weighted like Steps
}

// Growth is an agent's pace in this cycle and in the ones before it, and what is
// not summed up yet.
type Growth struct {
	Cycle, Earlier Pace `json:",omitzero"`
	// Base is the context at the beginning of the present turn, Top its newest; 0
	// for none. Only a turn that Moved counts.
	Base, Top int64 `json:",omitzero"`
	Moved     bool  `json:",omitzero"`
	// At is the newest sign of life while the agent works, Seconds what has passed
	// since the last step.
	At      Instant `json:",omitzero"`
	Seconds float64 `json:",omitzero"`
}

// step takes a change of the current reading; was has no tokens when this is the
// cycle's first.
func (g *Growth) step(was, now Reading) {
	g.pass(now.At)
	g.At = max(g.At, now.At)
	g.Top = now.Tokens
	if was.Tokens == 0 {
		g.Base, g.Seconds, g.Moved = now.Tokens, 0, true
		return
	}
	g.Moved = true
	if was.Tokens == now.Tokens {
		return
	}
	g.Cycle.Steps.add(float64(now.Tokens-was.Tokens), stepFade)
	g.Cycle.Seconds = g.Cycle.Seconds*stepFade + g.Seconds
	g.Seconds = 0
}

// pass counts the time since the last sign of life as work. Where it is longer than a pause the agent was mostly idle, say it
// waited for somebody to allow a tool: then it counts as long as a reply takes this agent, a pause where that is not known.
func (g *Growth) pass(t Instant) {
	if g.At == 0 || t <= g.At {
		return
	}
	seconds := time.Duration(min(t-g.At, pause)).Seconds()
	if known := g.Cycle.Steps.Weight + g.Earlier.Steps.Weight; t-g.At > pause && known > 0 {
		seconds = min(seconds, (g.Cycle.Seconds+g.Earlier.Seconds)/known)
	}
	g.Seconds += seconds
}

// rest ends the work at t.
func (g *Growth) rest(t Instant) {
	g.pass(t)
	g.At = 0
}

// turn ends a turn, if it has shown readings.
func (g *Growth) turn() {
	if !g.Moved {
		return
	}
	g.Cycle.Turns.add(float64(g.Top-g.Base), turnFade)
	g.Base, g.Moved = g.Top, false
}

// open begins a cycle. The turn in which it began belongs to neither: what it added
// was cut away.
func (g *Growth) open(a *AgentState) {
	e := &g.Earlier
	e.Turns.fade(earlierFade)
	e.Steps.fade(earlierFade)
	e.Seconds *= earlierFade
	e.Turns.plus(g.Cycle.Turns)
	e.Steps.plus(g.Cycle.Steps)
	e.Seconds += g.Cycle.Seconds
	*g = Growth{Earlier: *e, At: g.At}
	if r, known := a.current(); known {
		g.Base, g.Top, g.Moved = r.Tokens, r.Tokens, true
	}
}
