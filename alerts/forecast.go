package alerts

import (
	"math"
	"time"
)

const (
	// farthest is the longest forecast, in turns or replies.
	farthest = 10_000

	// turnsNeeded and repliesNeeded are the minimum numbers of observed turns
	// and replies for a forecast of turns and seconds.
	turnsNeeded   = 2
	repliesNeeded = 5
)

// Range is a likely figure and the bounds that contain the true figure in four
// of five cases, if the context continues to grow at its present rate.
type Range struct {
	Low, Likely, High float64
	// Known is false, and the figures are 0, if too little was observed or the
	// context does not grow.
	Known bool
}

// around returns the range of a likely figure. The low end is a quarter of a
// small figure and about half of a large one, because large replies even out.
// The factors are quantiles of public transcripts.
func around(likely float64) Range {
	likely = min(likely, farthest)
	return Range{
		Low:    max(likely/4, likely/2-10),
		Likely: likely,
		High:   min(2*likely, farthest),
		Known:  true,
	}
}

// Forecast is the distance to the next compaction.
type Forecast struct {
	// Replies is the number of model replies that fit into the context. It is
	// known once context and threshold are known.
	Replies Range
	// Turns is the turn in which the context is compacted, counting from 1 for
	// the present or next turn; 0 when the threshold has been reached.
	Turns Range
	// Active is the working time of the agent until then, in seconds.
	Active Range
}

// forecast extrapolates the agent's growth. Without a compaction threshold or a
// context the forecast is unknown.
func (e *Engine) forecast(a *AgentState) Forecast {
	rest := e.rest(a)
	switch {
	case math.IsNaN(rest):
		return Forecast{}
	case rest <= 0:
		reached := Range{Known: true}
		return Forecast{Replies: reached, Turns: reached, Active: reached}
	}

	f := Forecast{
		Replies: around(rest / a.Growth.reply().Value),
		Turns:   a.Growth.turns(rest),
	}
	if work := a.Growth.Work; work.N >= repliesNeeded && work.Value > 0 {
		f.Active = Range{
			Low:    f.Replies.Low * work.Value,
			Likely: f.Replies.Likely * work.Value,
			High:   f.Replies.High * work.Value,
			Known:  true,
		}
	}
	return f
}

// rest returns the number of tokens left until the context is compacted, NaN if
// unknown. Of the observed sizes it uses one of the smallest, because a reply
// rarely ends at the threshold: a client that compacts at 155,000 tokens is
// observed to do so at 155,100 and at 174,000.
func (e *Engine) rest(a *AgentState) float64 {
	r, known := a.current()
	at, source := e.threshold(a.Agent, r)
	if source == ThresholdSeen {
		at = e.seen(a.Agent, r).early
	}
	if source == ThresholdAssumed && a.Beyond > 1 {
		// The assumption was wrong: the client waits until a request is refused.
		at = max(at, r.Window)
	}
	if !known || at == 0 {
		return math.NaN()
	}
	return float64(at - r.Tokens - r.Cleared)
}

// turns returns the turn in which the context will have grown by rest tokens.
func (g *Growth) turns(rest float64) Range {
	n := rest / g.Turn.Value
	if g.Turn.N < turnsNeeded || !(n > 0 && n <= farthest) {
		return Range{}
	}

	// Turns are whole numbers, and a large turn is more likely to reach rest.
	// Turns vary less than replies.
	return Range{
		Low:    n / 2,
		Likely: n + 1,
		High:   2*n + 2,
		Known:  true,
	}
}

// noticeForecast warns the agent once a cycle that few replies or turns may be
// left. It uses the low end of the range.
func (e *Engine) noticeForecast(a *AgentState, r Reading) {
	o := &e.options
	if o.ForecastReplies <= 0 && o.ForecastTurns <= 0 || a.Sent[KindForecast].At != 0 {
		return
	}
	within := func(r Range, most int) bool {
		return most > 0 && r.Known &&
			r.Low <= float64(most)
	}
	f := e.forecast(a)
	if within(f.Replies, o.ForecastReplies) || within(f.Turns, o.ForecastTurns) {
		e.sendForecast(a, r, f)
	}
}

func (e *Engine) sendForecast(a *AgentState, r Reading, f Forecast) {
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
	e.send(a, KindForecast, r.At, d)
}
