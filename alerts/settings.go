package alerts

import (
	"time"

	"sm/transcript"
)

// mute follows the settings: what was said about an agent that is to be silent is
// withdrawn, and one that may speak again is checked as it stands, unless it has been
// quiet for long.
func (e *Engine) mute(a *AgentState, t Instant) {
	muted := a.Disabled || e.options.Disabled
	if muted == a.Muted {
		return
	}
	a.Muted = muted
	e.changed[a.Agent] = struct{}{}
	if muted {
		e.withdraw(a, contextKinds()...)
		return
	}
	if e.present(a, t) {
		e.decide(a)
	}
}

// Repeat gives the notices about present contexts once more that no agent has heard.
// It is for notices that were dropped because no agent could be reached.
func (e *Engine) Repeat(now time.Time) []Action {
	e.out = nil
	t := transcript.InstantOf(now)
	for _, a := range e.order {
		for _, k := range contextKinds() {
			if a.Said[k].Heard == 0 {
				a.Said[k] = Said{}
			}
		}
		e.changed[a.Agent] = struct{}{}
		if e.present(a, t) {
			e.decide(a)
		}
	}
	return e.out
}

// revise checks an agent by new settings. Only thresholds change a level while the
// reading stays.
func (e *Engine) revise(a *AgentState) {
	was := a.Level
	now := e.levelOf(a)
	if now == was {
		return
	}
	e.changed[a.Agent] = struct{}{}
	switch {
	case now > was && e.present(a, e.now):
		e.decide(a)
	case now < Warn:
		e.withdraw(a, KindWarning, KindCritical)
	case now < Critical:
		e.withdraw(a, KindCritical)
	}
}
