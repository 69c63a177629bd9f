package alerts

// mute follows the settings: what was said about an agent that is to be silent is
// withdrawn, and one that may speak again is checked as it stands, unless it has been
// quiet for long.
func (nt *notices) mute(a *AgentState, t Instant) {
	muted := a.Disabled || nt.options.Disabled
	if muted == a.Muted {
		return
	}
	a.Muted = muted
	nt.changed[a.Agent] = struct{}{}
	if muted {
		nt.withdraw(a, contextKinds()...)
		return
	}
	if nt.present(a, t) {
		nt.decide(a)
	}
}

// revise checks an agent by new settings. Only thresholds change a level while the
// reading stays.
func (nt *notices) revise(a *AgentState) {
	was := a.Level
	now := nt.limits.levelOf(a)
	if now == was {
		return
	}
	nt.changed[a.Agent] = struct{}{}
	switch {
	case now > was && nt.present(a, nt.now):
		nt.decide(a)
	case now < Warn:
		nt.withdraw(a, KindWarning, KindCritical)
	case now < Critical:
		nt.withdraw(a, KindCritical)
	}
}
