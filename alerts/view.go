package alerts

import "time"

// View is the state of one agent as metrics, the API and the tables show it.
type View struct {
	// Enabled is false if the agent gets no notices.
	Enabled bool

	Cycle  int       // from 1 on
	Opened time.Time // zero for the first cycle

	// Reading is the reading that determines the level, and Percent its share
	// of the window; both are 0 while Known is false.
	Known bool
	Reading
	Percent int
	Level   Level

	// Read reports whether the agent has read the notice of its Level in this
	// cycle.
	Read bool

	Compacting bool
	Storming   bool

	// Threshold is the context size in tokens at which the client compacts, 0
	// if unknown, and ThresholdSource its origin.
	Threshold       int64
	ThresholdSource ThresholdSource
	Forecast        Forecast

	// Ratio is the context as a share of Threshold, 0 or more, and Pressure its
	// classification.
	Ratio    float64
	Pressure Pressure
}

// Agent returns the view of one agent, without a Cycle if it is unknown.
func (e *Engine) Agent(id string) (v View) {
	a := e.agents[id]
	if a == nil {
		return v
	}
	v = View{
		Enabled:    !e.options.Disabled,
		Cycle:      a.Cycle,
		Opened:     a.Opened.Time(),
		Compacting: a.Compacting,
		Storming:   a.Storming,
	}
	r, known := a.current()
	if known {
		v.Known = true
		v.Reading = r
		v.Percent = r.window().Percent(r.Tokens)
		v.Level = e.level(id, r)
		switch v.Level {
		case Warn:
			v.Read = a.Sent[KindWarning].Read != 0
		case Critical:
			v.Read = a.Sent[KindCritical].Read != 0
		}
	} else {
		r = a.Before // of the same client
	}
	v.Threshold, v.ThresholdSource = e.threshold(id, r)
	if known {
		v.Ratio, v.Pressure = PressureOf(r.Tokens, r.Cleared, v.Threshold)
	}
	v.Forecast = e.forecast(a)
	return v
}
