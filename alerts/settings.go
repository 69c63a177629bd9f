package alerts

// mute follows the settings: what was said about an agent that is to be silent is
// withdrawn, and one that may speak again is judged as it stands, unless it has been
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
		e.judge(a, t)
	}
}

// revise judges an agent by new settings. Only thresholds change a level while the
// reading stays.
func (e *Engine) revise(a *AgentState) {
	was := a.Level
	now := e.levelOf(a, e.now)
	if now == was {
		return
	}
	e.changed[a.Agent] = struct{}{}
	switch {
	case now > was && e.present(a, e.now):
		e.judge(a, e.now)
	case now < Warn:
		e.withdraw(a, KindWarning, KindCritical)
	case now < Critical:
		e.withdraw(a, KindCritical)
	}
}

// present says that the agent's context can be taken for what it is now: its client
// runs, or has been heard of lately.
func (e *Engine) present(a *AgentState, t Instant) bool {
	r, known := a.current()
	return known && (a.Active || r.At+recent >= max(e.now, t))
}
