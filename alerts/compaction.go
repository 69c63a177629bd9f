package alerts

import (
	"cmp"
	"slices"
	"time"

	"sm/transcript"
)

const (
	hour = Instant(time.Hour)
	// guessesAnHour is how often a cycle may be opened without any sign.
	guessesAnHour = 3
	// boundariesKept is how many keys of compactions are remembered for an agent.
	boundariesKept = 32
)

// begin notes that a client began to compact. Only a result opens a cycle: the
// attempt may fail, be blocked, or write a summary for later.
func (e *Engine) begin(a *AgentState, ev *Event, t Instant) {
	again := a.Attempted < a.Opened && a.Opened < t // the one before has had its result
	fresh := a.Attempted == 0 || max(t-a.Attempted, a.Attempted-t) > doubled || again
	a.Attempted = max(a.Attempted, t)
	late := a.Cause == CauseCompaction && a.First == 0 && t <= a.Opened+e.settle
	if late || t <= a.Opened || a.First != 0 && t <= a.First || t < a.Begun {
		if fresh {
			e.attempted(a, ev.Trigger)
		}
		return // its result is known already: without a reply there is nothing new to compact
	}
	if fresh {
		e.countAttempt(a)
		a.Uncounted = true
	}
	a.Begun = t
	a.Compacting = true
	a.Trigger = ev.Trigger
}

func (e *Engine) attempted(a *AgentState, trigger Trigger) {
	a.Attempts[trigger]++
	e.counters.Attempts[trigger]++
}

// countAttempt counts the newest attempt to compact: once, when it has a result,
// lapses, or is followed by another. A client that goes on without a result has only written a summary for
// later, which is no attempt.
func (e *Engine) countAttempt(a *AgentState) {
	if a.Uncounted {
		a.Uncounted = false
		e.attempted(a, a.Trigger)
	}
}

// Dismiss ends a compaction that was begun and came to nothing: the client is back
// at its prompt, or goes on with the context that it had.
func (e *Engine) Dismiss(id AgentID) {
	if a := e.agents[id]; a != nil && a.Compacting {
		e.dismiss(a)
		e.wake(a, e.now)
		e.changed[id] = struct{}{}
	}
}

func (e *Engine) dismiss(a *AgentState) {
	a.Uncounted = false
	a.settled()
}

// Compacting returns the agents that began to compact at before or earlier, and
// have shown no result.
func (e *Engine) Compacting(before time.Time) []AgentID {
	var ids []AgentID
	for _, a := range e.order {
		if a.Compacting && !a.Begun.Time().After(before) {
			ids = append(ids, a.Agent)
		}
	}
	return ids
}

// lapses is when a compaction without a result ends by itself, 0 for none.
func (e *Engine) lapses(a *AgentState) Instant {
	if !a.Compacting {
		return 0
	}
	return a.Begun + e.settle
}

// lapse ends a compaction that has shown no result for too long, so that nothing
// waits for a sign that was lost. Begun stays: a result that is told late still
// belongs to it.
func (e *Engine) lapse(a *AgentState, now Instant) {
	if end := e.lapses(a); end != 0 && now >= end {
		a.Compacting = false
		e.countAttempt(a)
		e.counters.Lapsed++
		e.changed[a.Agent] = struct{}{}
		e.wake(a, now)
	}
}

// compacted takes a sign that a compaction has taken place.
func (e *Engine) compacted(a *AgentState, ev *Event, t Instant) {
	o := &opening{sign: ev.Sign, cause: CauseCompaction, at: t, trigger: ev.Trigger, pre: ev.PreTokens}
	switch ev.Sign {
	case SignBoundary:
		if o.key = ev.Key; o.key != 0 {
			if slices.Contains(a.Boundaries, o.key) {
				if o.key == a.Boundary && ev.Trigger != a.Made { // more is known of it by now
					e.forget(a, ev)
					e.learn(a, ev)
					e.count(a, o, ev.Trigger)
				}
				return
			}
			a.Boundaries = newest(append(a.Boundaries, o.key), boundariesKept)
		}
		e.learn(a, ev)
		if ev.History {
			return
		}
	case SignSessionStart, SignComplete:
		o.trigger = transcript.Unknown
	case SignPostCompact:
		if o.trigger == transcript.Auto && a.Begun == 0 {
			o.trigger = transcript.Unknown // the boundary shows whether it was idle
		}
	default:
		return
	}
	e.sign(a, o)
}

// triggerOf is the trigger of a compaction, or that of the attempt that led to it.
func (e *Engine) triggerOf(a *AgentState, o *opening) Trigger {
	if o.trigger == transcript.Unknown && a.Begun != 0 && o.at >= a.Begun && o.at <= a.Begun+e.settle {
		return a.Trigger
	}
	return o.trigger
}

// shrunk says that a reading shows a compaction before any sign of it has come: the reading was
// made after one had begun, and is smaller than what was known before by more than
// the two points by which roundings of the window can differ. Any other reading of
// the transcript shows that the client went on without compacting.
func (e *Engine) shrunk(a *AgentState, r *Reading) bool {
	before, known := a.current()
	if a.Begun == 0 || r.At <= a.Begun || r.At > a.Begun+e.settle || !known || r.At < before.At {
		return false
	}
	if r.Source == transcript.FromStatusline && a.Readings[transcript.FromTranscript].At != 0 && r.At <= a.Begun+lag {
		return false // may speak of a reading from before that is still to come
	}
	if r.Tokens+margin(r.Window) >= before.Tokens {
		if r.Source == transcript.FromTranscript {
			e.dismiss(a)
		}
		return false
	}
	return true
}

// guess opens a cycle without any sign, unless that has happened too often: then only
// the compaction ends.
func (e *Engine) guess(a *AgentState, t Instant) {
	a.Guesses = slices.DeleteFunc(a.Guesses, func(g Instant) bool { return g <= t-hour })
	if len(a.Guesses) >= guessesAnHour {
		e.dismiss(a)
		return
	}
	a.Guesses = append(a.Guesses, t)
	e.counters.Guessed++
	begun := a.Begun
	e.open(a, &opening{sign: signGuess, cause: CauseCompaction, at: t, trigger: transcript.Unknown})
	// It happened some time before: a smaller reading from then is of this cycle too.
	if a.Before.Source == transcript.FromTranscript {
		begun = max(begun, a.Before.At)
	}
	a.Opened = min(a.Opened, begun+1)
}

// margin is by how much two figures for one context may differ, in tokens.
func margin(window int64) int64 { return max(0, window) / 50 }

// noticeCompacted tells the parent, or the operator of an agent that has none, once that the agent was compacted and
// still runs.
func (e *Engine) noticeCompacted(a *AgentState, o *opening, trigger Trigger) {
	if trigger == transcript.Idle || a.Said[KindCompacted].At != 0 {
		return
	}
	if trigger == transcript.Unknown && (o.sign == SignSessionStart || o.sign == SignPostCompact) {
		return // the boundary has the trigger
	}
	d := a.data()
	d.Trigger, d.PreTokens = trigger.String(), thousands(cmp.Or(o.pre, a.Before.Tokens))
	n := notice{kind: KindCompacted, at: o.at, parent: true, data: d}
	if a.Parent == "" || a.Parent == a.Agent {
		n.parent, n.operator = false, e.options.OperatorCompactions
	}
	e.say(a, n)
	a.counts(KindCompacted, o.at) // where nobody was there to tell, a parent that comes later need not know
}
