package alerts

import (
	"cmp"
	"strconv"
	"time"

	"sm/transcript"
)

// operatorCopy is the Ref of a notice's copy for the operator, where the parent
// hears it too.
const operatorCopy = "operator"

// notice is one that is to be said, to each of those whom it is for.
type notice struct {
	kind                   Kind
	ref                    string
	at                     Instant
	mode                   Mode
	self, parent, operator bool
	data                   Data
}

// say says a notice, unless nobody may hear it. The caller has made sure that it has
// not been said.
func (e *Engine) say(a *AgentState, n notice) {
	if a.Muted {
		return
	}
	key := Key{Agent: a.Agent, Cycle: a.Cycle, Kind: n.kind, Ref: n.ref}
	said := false
	send := func(key Key, to Target) {
		text, plain := e.text(n.kind, n.data)
		e.out = append(e.out, Say{Key: key, To: to, Mode: n.mode, Text: text, Plain: plain, At: n.at.Time()})
		said = true
	}
	if n.self {
		send(key, Target{Self, a.Agent})
	}
	if n.parent && a.Parent != "" && a.Parent != a.Agent {
		send(key, Target{Parent, a.Parent})
	}
	if n.operator {
		copied := key
		if n.parent {
			copied.Ref = operatorCopy
		}
		send(copied, Target{Role: Operator})
	}
	if !said {
		return
	}
	e.counters.Notices[n.kind]++
	if n.kind != KindNoData {
		a.Said[n.kind] = Said{At: n.at, Key: key, Open: true}
	}
}

// unsaid reports whether the cycle has no notice of the kind yet, from the
// engine or from an alert of another system.
func (a *AgentState) unsaid(k Kind) bool { return a.Said[k].At == 0 }

// counts makes a kind of notice count as said in this cycle, if it was not.
func (a *AgentState) counts(k Kind, at Instant) {
	a.Said[k].At = cmp.Or(a.Said[k].At, at)
}

// withdraw takes back what has been said of these kinds and may still wait.
func (e *Engine) withdraw(a *AgentState, list ...Kind) {
	var keys []Key
	for _, k := range list {
		if s := &a.Said[k]; s.Open {
			s.Open = false
			keys = append(keys, s.Key)
		}
	}
	if keys != nil {
		e.out = append(e.out, Withdraw{Keys: keys})
	}
}

// contextKinds are the notices to an agent about its own context.
func contextKinds() []Kind { return []Kind{KindWarning, KindCritical, KindForecast} }

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

// sameTurn is how far apart two tellings of one turn's begin may be: its hook, and
// its record in the transcript.
const sameTurn = Instant(5 * time.Second)

// startTurn takes a prompt.
func (a *AgentState) startTurn(t Instant) {
	if t < a.Started || t < a.Ended || a.InTurn && t-a.Started <= sameTurn {
		return
	}
	a.Turns++
	a.InTurn, a.Started = true, t
	a.Growth.turn()
	a.Growth.At = t
}

// endTurn takes the end of a turn.
func (a *AgentState) endTurn(t Instant) {
	if t < a.Started || t < a.Ended {
		return
	}
	a.InTurn, a.Ended, a.Silent = false, t, false
	a.Growth.rest(t)
	a.Growth.turn()
}

// activate takes whether the client runs.
func (a *AgentState) activate(on bool, t Instant) {
	if t < a.Turned || on == a.Active {
		return
	}
	a.Active, a.Turned = on, t
	if !on {
		a.Silent = false
	}
}

// busy says that the agent can be expected to show readings: its client runs, and is
// not known to rest or to compact.
func (a *AgentState) busy() bool {
	return a.Active && (a.InTurn || a.Ended == 0) && !a.Compacting
}

// silent is when the lack of readings becomes worth telling, 0 for never.
func (e *Engine) silent(a *AgentState) Instant {
	if !a.busy() || a.Silent || a.Muted || e.options.NoDataAfter <= 0 {
		return 0
	}
	return a.heard() + Instant(e.options.NoDataAfter)
}

// heard is the last sign of work or rest: what came before it says nothing of the silence since.
func (a *AgentState) heard() Instant { return max(a.Data, a.Turned, a.Started, a.Attempted) }

// silence warns the operator about an agent that works without showing readings.
func (e *Engine) silence(a *AgentState) {
	if t := e.silent(a); t != 0 && e.now >= t {
		e.sayNoData(a, t)
	}
}

// sayNoData says that a new episode has begun.
func (e *Engine) sayNoData(a *AgentState, t Instant) {
	a.Silent = true
	a.Episodes++
	e.changed[a.Agent] = struct{}{}
	d := a.data()
	if quiet := t - a.heard(); quiet > 0 && quiet < t {
		d.Minutes = minutes(quiet)
	} else {
		d.Minutes = minutes(Instant(e.options.NoDataAfter))
	}
	e.say(a, notice{kind: KindNoData, ref: strconv.Itoa(a.Episodes), at: t, operator: true, data: d})
}

// minutes rounds, to at least 1.
func minutes(d Instant) int { return int(max(1, time.Duration(d).Round(time.Minute)/time.Minute)) }

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
