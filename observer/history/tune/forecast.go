package tune

import (
	"math"
	"slices"

	"sm/alerts"
	"sm/observer/history"
)

// Forecast has the results of the forecasts that were made a number of turns
// before compactions that were not manual.
type Forecast struct {
	Left      int `json:"turns_left"`
	Forecasts int `json:"forecasts"`
	Known     int `json:"known"` // the others had too little data
	// Error is the median of |likely − left| / left over Known, null if there
	// are none; Within is the share of them whose range contains the true
	// number.
	Error  *float64 `json:"median_error"`
	Within float64  `json:"within_range"`

	errors []float64
}

// forecaster compares forecasts with the true numbers.
type forecaster struct {
	turns []alerts.View // before each turn of the cycle
	by    [4]Forecast
}

// forecastsLeft returns the numbers of turns left for which forecasts are
// scored.
func forecastsLeft() [4]int { return [...]int{10, 5, 3, 1} }

// expect keeps the forecast before each turn, and scores those of a cycle at
// its compaction. A copied compaction was scored in its original transcript.
func (f *forecaster) expect(engine *alerts.Engine, t *history.Timeline, i int) {
	switch ev := &t.Events[i]; ev.Kind {
	case alerts.EventTurnStart:
		f.turns = append(f.turns, engine.Agent(ev.Agent))
	case alerts.EventReset: // the turns before a rewind lead to no compaction
		kept := 0
		if i > 0 && t.Events[i-1].Kind == alerts.EventTurnStart {
			kept = 1
		}
		f.turns = slices.Delete(f.turns, 0, len(f.turns)-kept)
	case alerts.EventCompacted:
		if ev.Trigger.Forced() && t.First[i] {
			f.score()
		}
		f.turns = f.turns[:0]
	}
}

func (f *forecaster) score() {
	for q, left := range forecastsLeft() {
		i := len(f.turns) - left
		if i < 0 || !f.turns[i].Known {
			continue // without a context there is no forecast
		}
		x := &f.by[q]
		x.Forecasts++
		turns := f.turns[i].Forecast.Turns
		if !turns.Known {
			continue
		}
		truth := float64(left)
		x.errors = append(x.errors, math.Abs(turns.Likely-truth)/truth)
		if holds(turns, truth) {
			x.Within++
		}
	}
}

// holds reports whether a range contains the true number. The turn of the
// compaction itself may count or not.
func holds(r alerts.Range, left float64) bool { return r.Low <= left && r.High >= left-1 }

func (f *forecaster) figures() []Forecast {
	for q, left := range forecastsLeft() {
		x := &f.by[q]
		x.Left = left
		x.Known = len(x.errors)
		x.Within = Share(x.Within, x.Known)
		x.Error = history.Median(x.errors)
	}
	return f.by[:]
}
