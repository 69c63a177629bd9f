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

// settle is the maximum duration of a compaction.
func (e *Engine) settle() Instant { return Instant(e.options.Settle) }

// begin handles the start of a compaction. The attempt may fail, be blocked, or
// only write a summary for later, so that it opens no cycle yet.
func (e *Engine) begin(a *AgentState, ev *Event) {
	t := ev.at
	again := a.Attempted < a.Opened && a.Opened < t // the one before has had its result
	fresh := a.Attempted == 0 || max(t-a.Attempted, a.Attempted-t) > duplicate || again
	a.Attempted = max(a.Attempted, t)
	late := a.Cause == CauseCompaction && a.First == 0 && t <= a.Opened+e.settle()
	if late || t <= a.Opened || a.First != 0 && t <= a.First || t < a.Begun {
		if fresh {
			e.counters.Attempts[ev.Trigger]++
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

// countAttempt counts the latest compaction attempt once, when it has a result,
// lapses or is followed by another attempt. A client that continues without a
// result has only written a summary for later, which is not counted.
func (e *Engine) countAttempt(a *AgentState) {
	if a.Uncounted {
		a.Uncounted = false
		e.counters.Attempts[a.Trigger]++
	}
}

// Dismiss ends compactions without result that began at or before the given time and whose
// clients are back at their prompts, or continue with their old contexts. It returns their
// number.
func (e *Engine) Dismiss(before time.Time, back func(agent string) bool) (n int) {
	for _, a := range e.sorted() {
		if a.Compacting && !a.Begun.Time().After(before) && back(a.Agent) {
			e.dismiss(a)
			e.restartReminders(a, e.now)
			e.changed[a.Agent] = true
			n++
		}
	}
	return n
}

func (e *Engine) dismiss(a *AgentState) {
	a.Uncounted = false
	a.endCompaction()
}

// lapses returns when a compaction without result is given up, 0 for none.
func (e *Engine) lapses(a *AgentState) Instant {
	if !a.Compacting {
		return 0
	}
	return a.Begun + e.settle()
}

// lapse gives up a compaction that has shown no result for too long, so that a
// lost sign blocks nothing. Begun stays: a late result still belongs to it.
func (e *Engine) lapse(a *AgentState, now Instant) {
	if end := e.lapses(a); end != 0 && now >= end {
		a.Compacting = false
		e.countAttempt(a)
		e.counters.Lapsed++
		e.changed[a.Agent] = true
		e.restartReminders(a, now)
	}
}

// compacted handles a sign of a finished compaction.
func (e *Engine) compacted(a *AgentState, ev *Event) {
	ev.Cause = CauseCompaction
	switch ev.Sign {
	case SignBoundary:
		if ev.Key != 0 {
			if slices.Contains(a.Boundaries, ev.Key) {
				if ev.Key == a.Boundary && ev.Trigger != a.Made { // more is known of it by now
					e.forget(a, ev)
					e.learn(a, ev)
					e.count(a, ev, ev.Trigger)
				}
				return
			}
			a.Boundaries = newest(append(a.Boundaries, ev.Key), boundariesKept)
		}
		e.learn(a, ev)
		if ev.History {
			return
		}
	case SignSessionStart, SignComplete:
		ev.Trigger = transcript.Unknown
	case SignPostCompact:
		if ev.Trigger == transcript.Auto && a.Begun == 0 {
			ev.Trigger = transcript.Unknown // the boundary shows whether it was idle
		}
	default:
		return
	}
	e.sign(a, ev)
}

// triggerOf returns the trigger of a compaction, or else that of its attempt.
func (e *Engine) triggerOf(a *AgentState, o *Event) Trigger {
	if o.Trigger == transcript.Unknown && a.Begun != 0 && o.at >= a.Begun &&
		o.at <= a.Begun+e.settle() {
		return a.Trigger
	}
	return o.Trigger
}

// shrunk reports whether a reading shows a compaction before any sign of it has
// arrived: it was made after the compaction began, and is smaller than the last
// one by more than the two points by which rounded percentages can differ. Any
// other reading of the transcript shows that the client continued without
// compacting.
func (e *Engine) shrunk(a *AgentState, r *Reading) bool {
	before, known := a.current()
	if a.Begun == 0 || r.At <= a.Begun || r.At > a.Begun+e.settle() || !known ||
		r.At < before.At {
		return false
	}
	if r.Source == transcript.FromStatusline &&
		a.Readings[transcript.FromTranscript].At != 0 &&
		r.At <= a.Begun+lag {
		return false // may belong to an earlier reading that is still to come
	}
	if r.Tokens+margin(r.Window) >= before.Tokens {
		if r.Source == transcript.FromTranscript {
			e.dismiss(a)
		}
		return false
	}
	return true
}

// guess opens a cycle without a sign. If that has happened too often, it only
// ends the compaction.
func (e *Engine) guess(a *AgentState, t Instant) {
	if len(a.Guesses) == guessesAnHour && a.Guesses[0] > t-hour {
		e.dismiss(a)
		return
	}
	a.Guesses = newest(append(a.Guesses, t), guessesAnHour)
	e.counters.Guessed++
	begun := a.Begun
	e.open(a, &Event{
		Sign:    signGuess,
		Cause:   CauseCompaction,
		Trigger: transcript.Unknown,
		at:      t,
	})
	// It happened some time before: a smaller reading from then is of this cycle too.
	if a.Before.Source == transcript.FromTranscript {
		begun = max(begun, a.Before.At)
	}
	a.Opened = min(a.Opened, begun+1)
}

// margin returns by how many tokens two figures for one context may differ.
func margin(window int64) int64 { return max(0, window) / 50 }

// noticeCompacted notifies the parent, or the operator if there is none, once
// that the agent was compacted and still runs.
func (e *Engine) noticeCompacted(a *AgentState, o *Event, trigger Trigger) {
	if trigger == transcript.Idle || a.Sent[KindCompacted].At != 0 {
		return
	}
	if trigger == transcript.Unknown &&
		(o.Sign == SignSessionStart || o.Sign == SignPostCompact) {
		return // the boundary has the trigger
	}
	d := a.data()
	d.Trigger = trigger.String()
	d.PreTokens = thousands(cmp.Or(o.PreTokens, a.Before.Tokens))
	e.send(a, KindCompacted, o.at, d)
}
