package alerts

import (
	"time"

	"sm/transcript"
)

// View is what the engine knows of one agent at one moment: what metrics, the API
// and the tables show. It is a plain value.
type View struct {
	Agent AgentID
	// Enabled is false when nothing is said about the agent.
	Enabled bool

	Cycle  int
	Opened time.Time // zero for the first cycle

	// Tokens, Window, Percent, Source and Read belong to the reading that the level
	// is judged by; they are 0 while Known is false.
	Known   bool
	Tokens  int64
	Window  int64
	Percent int
	Source  transcript.Source
	Read    time.Time
	Level   Level

	// Heard reports that the agent has heard the notice of its Level in this cycle.
	Heard bool

	Compacting bool
	Storming   bool

	// Threshold is the context size in tokens at which the client compacts, 0 when
	// unknown, and ThresholdSource where that is from.
	Threshold       int64
	ThresholdSource ThresholdSource
	Forecast        Forecast

	// Ratio is the share of Threshold that the context has reached, 0 or more, and Pressure what that is called.
	Ratio    float64
	Pressure Pressure
}

// FromStatusline says that the reading is the status line's, which may then show the context where the transcript does not
// know it. A reading of the transcript is no such stand-in: after a compaction the transcript itself says "unknown".
func (v *View) FromStatusline() bool { return v.Known && v.Source == transcript.FromStatusline }

// Agent returns what is known of one agent; ok is false for one that is not known.
func (e *Engine) Agent(id AgentID) (v View, ok bool) {
	a := e.agents[id]
	if a == nil {
		return View{}, false
	}
	v = View{
		Agent: a.Agent, Enabled: !(a.Disabled || e.options.Disabled),
		Cycle: a.Cycle, Opened: a.Opened.Time(), Compacting: a.Compacting, Storming: a.Storming,
	}
	r, known := a.current()
	if known {
		v.Known, v.Tokens, v.Window, v.Percent = true, r.Tokens, r.Window, percent(r)
		v.Source, v.Read = r.Source, r.At.Time()
		v.Level = e.level(id, r)
		switch v.Level {
		case Warn:
			v.Heard = a.Said[KindWarning].Heard != 0
		case Critical:
			v.Heard = a.Said[KindCritical].Heard != 0
		}
	} else {
		r = a.Before // the client is still the same
	}
	v.Threshold, v.ThresholdSource = e.threshold(id, r)
	if known {
		v.Ratio, v.Pressure = PressureOf(r.Tokens, r.Cleared, v.Threshold)
	}
	v.Forecast = e.forecast(a)
	return v, true
}

// Replies is the size of an agent's context in tokens and how many replies it still takes, as View has them: for those who
// ask after each reply. known is false without a context.
func (e *Engine) Replies(id AgentID) (tokens int64, replies Range, known bool) {
	a := e.agents[id]
	if a == nil {
		return 0, Range{}, false
	}
	r, known := a.current()
	return r.Tokens, e.forecast(a).Replies, known
}
