package alerts

import "sm/transcript"

// read handles a context size.
func (e *Engine) read(a *AgentState, ev *Event) {
	t := ev.at
	if _, known := a.current(); !known && a.Cycle == 1 && a.Cause == CauseNone &&
		ev.Cycle > 1 {
		a.Cycle = ev.Cycle
	}
	if ev.Back && ev.Tokens == 0 {
		e.clearContext(a, t)
		return
	}
	if ev.Tokens <= 0 || ev.Source > transcript.FromEstimate ||
		ev.Source == transcript.FromEstimate && !e.options.Estimate {
		return
	}
	r := ev.Reading
	if ev.Source == transcript.FromStatusline && !e.sample(a, &r) {
		return
	}
	if ev.Back && a.Back == 0 {
		a.Back = t
	}
	if t > a.Data {
		a.Data = t
		a.Silent = false
	}
	if t < a.Opened {
		if t > a.Before.At {
			a.Before = r
		}
		return
	}
	if e.shrunk(a, &r) {
		e.guess(a, t)
	}
	e.take(a, r)
	if ev.History && e.now-t > recent {
		e.levelOf(a) // too old for a notice
		return
	}
	e.decide(a)
}

// take stores a reading of this cycle if it is the newest of its source.
func (e *Engine) take(a *AgentState, r Reading) {
	a.First = sooner(a.First, r.At)
	last := a.Readings[r.Source]
	if r.At < last.At {
		return
	}
	if r.Source == transcript.FromStatusline {
		if last.At != 0 && last.Tokens == r.Tokens && last.Window == r.Window &&
			last.At >= a.Back {
			a.Readings[r.Source].CompactsAt = r.CompactsAt // its settings may have changed
			return                                         // the same sample, drawn again
		}
		a.Prior = last
		if script := a.Readings[transcript.FromTranscript]; script.Tokens == r.Tokens {
			r.At = min(r.At, script.At) // the sample shows that reading
		}
	}
	was, _ := a.current()
	a.Readings[r.Source] = r
	if r.Source == transcript.FromTranscript && r.At >= a.Back {
		a.Back = 0
	}
	if now, _ := a.current(); now != was {
		a.Growth.step(was, now)
		full := now.CompactsAt > 0 && now.Tokens+now.Cleared >= now.CompactsAt
		if full && was.Tokens != now.Tokens {
			a.Beyond++
		}
	}
}

// sample reports whether a sample of the status line counts as a reading.
// Samples are made at any time, arrive in any order and may show an old
// context.
func (e *Engine) sample(a *AgentState, r *Reading) bool {
	ok := r.At >= a.Opened && r.At >= a.Sampled
	if ok {
		a.Sampled = r.At
		// Clients before 2.1.132 report the sum of many requests, which may
		// exceed the window.
		ok = r.Window == 0 || r.Tokens <= r.Window
	}
	if ok && (a.First == 0 || r.At < a.First) {
		ok = !e.echo(*r, a.Before, a.Opened)
	}
	if !ok {
		e.counters.Stale++
	}
	return ok
}

// echo reports whether a sample stamped after an opening shows the context from
// before it. The client may redraw its status line at any time, but gets the
// new size only with the next reply. Until then it shows the last reading or,
// for a moment, a larger figure.
func (e *Engine) echo(sample, before Reading, opened Instant) bool {
	more := sample.Tokens - before.Tokens
	wide := margin(sample.Window)
	switch {
	case before.Tokens == 0 || sample.At > opened+e.settle() || more < -wide:
		return false
	case more <= wide:
		return true
	}
	return sample.At <= opened+skew
}

// decide sends at most one notice about the current context.
func (e *Engine) decide(a *AgentState) {
	r, known := a.current()
	level := e.levelOf(a)
	if !known || a.Muted {
		return
	}
	switch {
	case level == Critical && a.Sent[KindCritical].At == 0:
		e.warn(a, KindCritical, r)
	case level >= Warn && a.Sent[KindWarning].At == 0:
		e.warn(a, KindWarning, r)
	default:
		e.noticeForecast(a, r)
	}
}

// warn notifies the agent about its own context. The critical notice replaces
// the warning and the forecast.
func (e *Engine) warn(a *AgentState, k Kind, r Reading) {
	if k == KindCritical {
		e.withdraw(a, KindWarning, KindForecast)
		a.cover(KindWarning, r.At)
		a.cover(KindForecast, r.At)
	}
	e.send(a, k, r.At, a.data())
}

// levelOf returns the level of the current context and reports a change of
// level, percentage or Known.
func (e *Engine) levelOf(a *AgentState) Level {
	r, known := a.current()
	level := OK
	share := 0
	if known {
		level = e.level(a.Agent, r)
		share = r.window().Percent(r.Tokens)
	}
	if level != a.Level || share != a.Percent || known != a.Known {
		a.Level = level
		a.Percent = share
		a.Known = known
		e.out = append(e.out, SetLevel{a.Agent})
	}
	return level
}

// level returns the level of a reading.
func (e *Engine) level(id string, r Reading) Level {
	at, _ := e.threshold(id, r)
	return e.options.Thresholds.Level(r.Tokens, r.Cleared, r.window(), at)
}

// alert sends the notice for an external alert unless the cycle has it already.
// It counts as the engine's own notice of that kind.
func (e *Engine) alert(a *AgentState, k Kind, t Instant) {
	if a.Muted {
		return
	}
	r, known := a.current()
	known = known && t >= a.Opened // older alerts are about the previous context
	switch k {
	case KindWarning, KindCritical, KindForecast:
		switch {
		case !known || a.Sent[k].At != 0 || a.Sent[KindCritical].At != 0:
		case k == KindForecast:
			e.sendForecast(a, r, e.forecast(a))
		default:
			e.warn(a, k, r)
		}
	case KindStorm:
		// The engine has already checked each automatic compaction: one since
		// the alert has either begun a storm or ended it.
		if n := len(a.Bursts); !a.Storming && (n == 0 || t >= a.Bursts[n-1].At) {
			e.storm(a, t, max(len(a.Bursts), e.options.Storm.Count), 0)
		}
	case KindNoData:
		if a.busy() && !a.Silent && t > a.lastSign() {
			e.sendNoData(a, t)
		}
	}
}
