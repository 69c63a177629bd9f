package tune

import (
	"math"
	"slices"

	"sm/alerts"
	"sm/observer/history"
)

// Forecast has the forecasts made with a number of turns left before compactions that were not manual.
type Forecast struct {
	Left      int `json:"turns_left"`
	Forecasts int `json:"forecasts"`
	Known     int `json:"known"` // the others had seen too little for a figure
	// Error is the median of |likely − left| / left over those Known, null without any; Within is the share of them
	// whose range holds the truth.
	Error  *float64 `json:"median_error"`
	Within float64  `json:"within_range"`
}

// forecaster compares the forecasts of an engine that gets all events with the truth.
type forecaster struct {
	engine *alerts.Engine
	left   [4]int
	errors [4][]float64 // of those known
	asked  [4]int
	within [4]int
	ask    []int8 // by event: the question to ask before it, none for none; reused
}

func newForecaster(o alerts.Options) (*forecaster, error) {
	engine, err := alerts.New(o)
	return &forecaster{engine: engine, left: [4]int{10, 5, 3, 1}}, err
}

// add plays a session. first marks the compactions that are no copies: the others
// are scored in another session.
func (f *forecaster) add(events []alerts.Event, first []bool) {
	f.questions(events, first)
	for i := range events {
		if q := f.ask[i]; q != none {
			f.answer(int(q), events[i].Agent)
		}
		f.engine.Step(events[i])
	}
	f.engine.Forget(events[0].Agent)
}

// questions finds the turns before whose beginning to ask.
func (f *forecaster) questions(events []alerts.Event, first []bool) {
	f.ask = slices.Grow(f.ask[:0], len(events))[:len(events)]
	var starts []int
	for i := range events {
		f.ask[i] = none
		switch ev := &events[i]; ev.Kind {
		case alerts.EventTurnStart:
			starts = append(starts, i)
		case alerts.EventReset: // the turns before a rewind lead to no compaction
			starts = starts[:0]
			if i > 0 && events[i-1].Kind == alerts.EventTurnStart {
				starts = append(starts, i-1)
			}
		case alerts.EventCompacted:
			for q, left := range f.left {
				if at := len(starts) - left; at >= 0 && ev.Trigger.Forced() && first[i] {
					f.ask[starts[at]] = int8(q)
				}
			}
			starts = starts[:0]
		}
	}
}

// answer compares a forecast with the truth. Without a context there is no forecast.
func (f *forecaster) answer(q int, agent alerts.AgentID) {
	v, _ := f.engine.Agent(agent)
	if !v.Known {
		return
	}
	f.asked[q]++
	turns := v.Forecast.Turns
	left := float64(f.left[q])
	if !turns.Known {
		return
	}
	f.errors[q] = append(f.errors[q], math.Abs(turns.Likely-left)/left)
	if holds(turns, left) {
		f.within[q]++
	}
}

// holds reports whether a range contains the truth. The turn of the compaction itself may count or not.
func holds(r alerts.Range, left float64) bool { return r.Low <= left && r.High >= left-1 }

func (f *forecaster) figures() []Forecast {
	all := make([]Forecast, len(f.left))
	for q := range all {
		all[q] = Forecast{
			Left:      f.left[q],
			Forecasts: f.asked[q],
			Known:     len(f.errors[q]),
			Within:    Share(float64(f.within[q]), len(f.errors[q])),
		}
		if len(f.errors[q]) > 0 {
			slices.Sort(f.errors[q])
			all[q].Error = new(history.Median(f.errors[q]))
		}
	}
	return all
}
