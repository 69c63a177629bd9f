package report

import (
	"math"

	"sm/alerts"
	"sm/observer/history"
	"sm/transcript"
)

// Forecast has the results of the forecasts exactly Left replies before
// automatic compactions, as an observer would have made them at that time. The
// results are null if there are none.
type Forecast struct {
	Left      int      `json:"replies_left"`
	Forecasts int      `json:"forecasts"`
	Error     *float64 `json:"median_error"` // of |likely − left| / left
	Within    *float64 `json:"within_range"` // share of the ranges that contain the true number
	Width     *float64 `json:"median_width"` // of (high − low) / likely

	errors, widths []float64
	within         int
}

// forecastsLeft returns the numbers of replies left for which forecasts are
// scored.
func forecastsLeft() [4]int { return [...]int{10, 20, 40, 80} }

// forecasts keeps the forecasts of an engine after each reply, and scores them
// at the compaction.
type forecasts struct {
	engine *alerts.Engine
	agents map[string]foreseen
	by     [4]Forecast
}

// foreseen has the forecasts for one agent in this cycle, the newest last.
type foreseen struct {
	tokens int64 // of the newest reply
	ranges []alerts.Range
}

func newForecasts(engine *alerts.Engine) *forecasts {
	return &forecasts{engine: engine, agents: map[string]foreseen{}}
}

// take passes an event to the engine. The events of all sessions must be in
// order of time.
func (f *forecasts) take(t *history.Timeline, i int) {
	ev := t.Events[i]
	a := f.agents[ev.Agent]
	switch ev.Kind {
	case alerts.EventCompacted:
		if !t.First[i] {
			ev.Trigger = transcript.Unknown // the engine has learned the original
		} else if ev.Trigger == transcript.Auto {
			f.score(a.ranges)
		}
		a = foreseen{}
	case alerts.EventReset: // forecasts for the abandoned conversation can never be scored
		a = foreseen{tokens: ev.Tokens}
	}
	f.engine.Step(ev)
	if ev.Kind == alerts.EventReading && ev.Tokens != a.tokens {
		if v := f.engine.Agent(ev.Agent); v.Known && v.Tokens != a.tokens {
			a.tokens = v.Tokens
			a.ranges = append(a.ranges, v.Forecast.Replies)
		}
	}
	f.agents[ev.Agent] = a
	if i == len(t.Events)-1 {
		f.engine.Forget(ev.Agent)
		delete(f.agents, ev.Agent)
	}
}

// score compares the forecasts of a cycle with its length.
func (f *forecasts) score(ranges []alerts.Range) {
	for q, left := range forecastsLeft() {
		i := len(ranges) - 1 - left
		if i < 0 || !ranges[i].Known {
			continue
		}
		r := ranges[i]
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
