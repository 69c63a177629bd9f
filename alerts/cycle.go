package alerts

import (
	"time"

	"sm/transcript"
)

// opening is one sign that the context began anew.
type opening struct {
	sign  Sign
	cause Cause
	at    Instant
	// key is that of the boundary or of the new session, 0 for other signs.
	key transcript.Key
	// trigger and pre belong to compactions.
	trigger Trigger
	pre     int64
}

func (o *opening) compacted() bool { return o.cause == CauseCompaction }

// same says whether a sign belongs to the opening of the present cycle, or to one
// before it, rather than opening another.
func (e *Engine) same(a *AgentState, o *opening) bool {
	fresh := a.First == 0
	switch {
	case o.at < a.Opened || !fresh && o.at <= a.First:
		return true
	case o.at > a.Opened+e.settle:
		return false
	case o.sign == SignBoundary && a.Boundary != 0 && o.key != 0:
		return false // two boundaries are two, however close
	case !o.compacted() && o.key != 0 && a.Keyed:
		return false // and so are two sessions
	case a.Cause == CauseNone:
		return false
	case fresh:
		return true
	case o.compacted() != (a.Cause == CauseCompaction), !o.compacted() && o.at > a.Opened+skew:
		return false
	case a.Begun > a.First && o.at >= a.Begun:
		return false // the client has begun anew since
	}
	// A straggler, unless its like has been here.
	seen := a.Signs[o.sign]
	return seen == 0 || max(seen-o.at, o.at-seen) <= doubled
}

// sign takes a sign: it opens a cycle, or is one more of the present one.
func (e *Engine) sign(a *AgentState, o *opening) {
	if !e.same(a, o) {
		e.open(a, o)
		return
	}
	other := o.compacted() != (a.Cause == CauseCompaction)
	if o.at < a.Opened && (other || o.at <= a.Before.At || a.Opened-o.at > e.settle) {
		// Of a cycle before this one.
		if a.Begun != 0 && o.at >= a.Begun {
			a.settled()
		}
		return
	}
	if a.Cause == CauseNone {
		return // from before all that is known of the agent
	}
	a.Opened = min(a.Opened, o.at)
	if o.compacted() {
		a.Cause = CauseCompaction
	}
	e.join(a, o)
}

// join adds a sign to the opening of the present cycle.
func (e *Engine) join(a *AgentState, o *opening) {
	if a.Signs[o.sign] == 0 {
		a.Signs[o.sign] = o.at
	}
	if !o.compacted() {
		if o.key != 0 {
			a.Session, a.Keyed = o.key, true
		}
		if o.at >= a.Begun {
			a.settled()
		}
		return
	}
	if o.sign == SignBoundary {
		a.Unconfirmed, a.Guesses = false, nil
		if a.Boundary == 0 {
			a.Boundary = o.key
		}
	}
	trigger := a.triggerOf(o)
	if o.at >= a.Begun {
		a.settled()
	}
	e.tellCompacted(a, o, trigger)
	if trigger == transcript.Auto {
		e.burst(a, o.at)
	}
}

// open begins a cycle.
func (e *Engine) open(a *AgentState, o *opening) {
	before, _ := a.current()
	act := Opened{
		Agent: a.Agent, Cycle: a.Cycle + 1, Cause: o.cause, Unconfirmed: o.sign == signGuess,
		Trigger: a.triggerOf(o), PreTokens: o.pre, At: o.at.Time(),
	}
	if act.PreTokens == 0 && o.compacted() {
		act.PreTokens = before.Tokens
	}
	a.disown(o.at)
	for _, k := range []Kind{KindWarning, KindCritical} {
		act.Warned = act.Warned || a.Said[k].Key.Agent != "" && a.Said[k].At <= o.at
	}
	e.out = append(e.out, act)
	a.Cycle, a.Opened, a.Cause, a.Unconfirmed = a.Cycle+1, o.at, o.cause, act.Unconfirmed
	a.Signs, a.Boundary, a.Keyed, a.Counted = [signs]Instant{}, 0, false, false
	if !o.compacted() {
		a.Storming = false
	}
	e.retire(a, o)
	a.divide(o.at)
	e.levelOf(a, o.at)
	e.join(a, o)
	e.judge(a, o.at)
}

// disown takes a sample for older than the opening when it is stamped later but shows
// the context from before: a client draws its status line anew at any time.
func (a *AgentState) disown(at Instant) {
	sample := &a.Readings[transcript.FromStatusline]
	if sample.At <= at {
		return
	}
	before := a.Before
	for _, r := range append(a.Readings[:], a.Prior) {
		if r.At <= at && r.At > before.At {
			before = r
		}
	}
	if before.Tokens == 0 || sample.Tokens+margin(sample.Window) < before.Tokens {
		return
	}
	for k := range a.Said {
		if a.Said[k].At == sample.At {
			a.Said[k].At = at
		}
	}
	sample.At = at
}

// retire withdraws what was said in the cycle before. What was said because of a
// reading that is newer than the opening holds on: it is of the new cycle.
func (e *Engine) retire(a *AgentState, o *opening) {
	old := contextKinds()
	if !o.compacted() {
		// After a clear it is no news that the agent was compacted before.
		old = append(old, KindCompacted)
	}
	var gone []Kind
	for _, k := range old {
		if s := a.Said[k]; s.At != 0 && (s.At <= o.at || k == KindCompacted) {
			gone = append(gone, k)
		}
	}
	e.withdraw(a, gone...)
	for _, k := range gone {
		a.Said[k] = Said{}
	}
	a.Said[KindCompacted], a.Said[KindStorm] = Said{}, Said{}
}

// divide keeps the readings that are newer than the opening, and of the others the
// newest as the last of the cycle before.
func (a *AgentState) divide(at Instant) {
	a.First = 0
	for i, r := range a.Readings {
		if r.At > at {
			if a.First == 0 || r.At < a.First {
				a.First = r.At
			}
			continue
		}
		if r.At > a.Before.At {
			a.Before = r
		}
		a.Readings[i] = Reading{}
	}
	a.Prior = Reading{}
	a.Growth.open(a)
}

// reset takes a sign that the context was thrown away.
func (e *Engine) reset(a *AgentState, ev *Event, t Instant) {
	o := &opening{cause: ev.Cause, at: t, key: ev.Key}
	switch ev.Cause {
	case CauseClear:
		o.sign = signClear
	case CauseSession:
		o.sign = signSession
	case CauseHandoff:
		o.sign = signHandoff
	default:
		return
	}
	if o.key != 0 && o.key == a.Session {
		return
	}
	if _, known := a.current(); !known && a.Cycle == 1 && a.Cause == CauseNone {
		// Nothing has been read yet: the agent's first session, and its first cycle.
		a.Opened = max(a.Opened, t)
		a.Session, a.Keyed = o.key, o.key != 0
		return
	}
	e.sign(a, o)
}

// settled ends a compaction that was begun.
func (a *AgentState) settled() {
	a.Begun, a.Compacting, a.Trigger = 0, false, transcript.Unknown
}

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
	if r, ok := a.current(); ok && (a.Active || r.At+recent >= max(e.now, t)) {
		e.judge(a, t)
	}
}

// contextKinds are the notices to an agent about its own context.
func contextKinds() []Kind { return []Kind{KindWarning, KindCritical, KindForecast} }

func minutes(d Instant) int { return int(max(1, time.Duration(d).Round(time.Minute)/time.Minute)) }
