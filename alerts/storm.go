package alerts

import "sm/transcript"

// burstsKept is how many automatic compactions are remembered for a storm at least.
const burstsKept = 16

// count counts the compaction that opened the present cycle, if it was automatic. The
// attempt may have had another trigger than what came of it, so a sign that knows
// corrects one that does not.
func (e *Engine) count(a *AgentState, o *opening, trigger Trigger) {
	if a.Made != transcript.Unknown && o.trigger != transcript.Idle {
		return
	}
	a.Made = o.trigger
	switch {
	case trigger == transcript.Auto && !a.Counted:
		a.Counted = true
		e.burst(a, o.at)
	case (a.Made == transcript.Manual || a.Made == transcript.Idle) && a.Counted:
		a.Counted = false
		a.Bursts = a.Bursts[:len(a.Bursts)-1]
	}
}

// burst notes an automatic compaction, and says so when it is one too many.
func (e *Engine) burst(a *AgentState, at Instant) {
	a.Bursts = newest(append(a.Bursts, Burst{At: at, Turn: a.Turns}), max(burstsKept, e.options.Storm.Count))
	count, turns := e.stormy(a)
	switch {
	case count == 0:
		a.Storming = false
	case !a.Storming:
		e.storm(a, at, count, turns)
	}
}

// stormy says how many automatic compactions make a storm of the newest one, 0 for
// none, and within how many turns if that is what makes it one.
func (e *Engine) stormy(a *AgentState) (count, turns int) {
	s, last := e.options.Storm, a.Bursts[len(a.Bursts)-1]
	for _, b := range a.Bursts {
		if b.At > last.At-Instant(s.Within) {
			count++
		}
	}
	if s.Count > 0 && count >= s.Count {
		return count, 0
	}
	if len(a.Bursts) < 2 || a.Turns == 0 {
		return 0, 0 // without any turn known, none have passed
	}
	if turns = last.Turn - a.Bursts[len(a.Bursts)-2].Turn + 1; turns <= s.Turns {
		return 2, turns
	}
	return 0, 0
}

// storm says that there is one, once an episode and cycle.
func (e *Engine) storm(a *AgentState, at Instant, count, turns int) {
	a.Storming = true
	if a.Said[KindStorm].At != 0 {
		return
	}
	e.counters.Storms++
	d := a.data()
	d.Count, d.Turns, d.Minutes = count, turns, minutes(Instant(e.options.Storm.Within))
	if n := len(a.Bursts); count > 0 && count <= n {
		d.Minutes = minutes(a.Bursts[n-1].At - a.Bursts[n-count].At)
	}
	e.say(a, notice{kind: KindStorm, at: at, mode: Important, parent: true, operator: true, data: d})
	a.counts(KindStorm, at)
}
