package report

import (
	"math"
	"slices"

	"sm/alerts"
	"sm/observer/history"
	"sm/transcript"
)

// Forecast are the forecasts made exactly so many replies before an automatic
// compaction, as an observer would have made them then: with what was known by
// that time. The figures are null without any.
type Forecast struct {
	Left      int      `json:"replies_left"`
	Forecasts int      `json:"forecasts"`
	Error     *float64 `json:"median_error"` // of |likely − left| / left
	Within    *float64 `json:"within_range"` // the share of them whose range holds the truth
	Width     *float64 `json:"median_width"` // of (high − low) / likely

	errors, widths []float64
	within         int
}

// forecastsLeft are the numbers of replies left that forecasts are scored by.
func forecastsLeft() [4]int { return [...]int{10, 20, 40, 80} }

// forecasts asks an engine after each reply how far the compaction is, and
// scores its answers when that has come.
type forecasts struct {
	engine *alerts.Engine
	agents map[string]*foreseen
	by     [4]Forecast
}

// foreseen are the answers for one agent in this cycle, as many as are scored, the newest last.
type foreseen struct {
	tokens int64 // of the newest reply
	ranges []alerts.Range
}

func newForecasts(o alerts.Options) (*forecasts, error) {
	engine, err := alerts.New(o)
	return &forecasts{engine: engine, agents: map[string]*foreseen{}}, err
}

// take passes an event to the engine. Events of all sessions must come by time.
func (f *forecasts) take(t *history.Timeline, i int) {
	ev := t.Events[i]
	a := f.agents[ev.Agent]
	if a == nil {
		a = &foreseen{}
		f.agents[ev.Agent] = a
	}
	if ev.Kind == alerts.EventCompacted {
		if !t.First[i] {
			ev.Trigger = transcript.Unknown // it has taught where it happened
		} else if ev.Trigger == transcript.Auto {
			f.score(a)
		}
		*a = foreseen{ranges: a.ranges[:0]}
	}
	if ev.Kind == alerts.EventReset { // what was foreseen of the conversation that was given up can never be scored
		*a = foreseen{tokens: ev.Tokens, ranges: a.ranges[:0]}
	}
	f.engine.Step(ev)
	if ev.Kind == alerts.EventReading && ev.Tokens != a.tokens {
		f.ask(a, ev.Agent)
	}
	if i == len(t.Events)-1 {
		f.engine.Forget(ev.Agent)
		delete(f.agents, ev.Agent)
	}
}

// ask keeps what is forecast after a reply.
func (f *forecasts) ask(a *foreseen, id string) {
	v, _ := f.engine.Agent(id)
	if !v.Known || v.Tokens == a.tokens {
		return
	}
	a.tokens = v.Tokens
	left := forecastsLeft()
	if most := left[len(left)-1] + 1; len(a.ranges) == most {
		a.ranges = slices.Delete(a.ranges, 0, 1)
	}
	a.ranges = append(a.ranges, v.Forecast.Replies)
}

// score compares what was forecast with what has come.
func (f *forecasts) score(a *foreseen) {
	for q, left := range forecastsLeft() {
		i := len(a.ranges) - 1 - left
		if i < 0 || !a.ranges[i].Known {
			continue
		}
		r := a.ranges[i]
		x := &f.by[q]
		truth := float64(left)
		x.errors = append(x.errors, math.Abs(r.Likely-truth)/truth)
		width := 0.0
		if r.Likely > 0 {
			width = (r.High - r.Low) / r.Likely
		}
		x.widths = append(x.widths, width)
		if r.Low <= truth && truth <= r.High {
			x.within++
		}
	}
}

func (f *forecasts) figures() []Forecast {
	for q, left := range forecastsLeft() {
		x := &f.by[q]
		x.Left = left
		x.Forecasts = len(x.errors)
		x.Error = history.Median(x.errors)
		x.Width = history.Median(x.widths)
		if x.Forecasts > 0 {
			x.Within = new(float64(x.within) / float64(x.Forecasts))
		}
	}
	return f.by[:]
}
