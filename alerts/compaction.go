package alerts

import (
	"cmp"
	"slices"
	"time"

	"sm/transcript"
)

const (
	// guessesAnHour limits the cycles opened in an hour without a sign.
	guessesAnHour = 3
	// boundariesKept limits the compaction keys stored for an agent.
	boundariesKept = 32
)

// settle is the maximum duration of a compaction.
func (e *Engine) settle() Instant { return Instant(e.options.Settle) }

// begin handles the start of a compaction. It opens no cycle: the attempt may
// fail, be blocked, or only write a summary for later use.
func (e *Engine) begin(a *AgentState, ev *Event) {
	t := ev.at
	again := a.Attempted < a.Opened && a.Opened < t // the previous attempt has its result
	fresh := a.Attempted == 0 || max(t-a.Attempted, a.Attempted-t) > duplicate || again
	a.Attempted = max(a.Attempted, t)
	late := a.Cause == CauseCompaction && a.First == 0 && t <= a.Opened+e.settle()
	if late || t <= a.Opened || a.First != 0 && t <= a.First || t < a.Begun {
		if fresh {
			e.counters.Attempts[ev.Trigger]++
		}
		return // its result has arrived: without a reply there is nothing new to compact
	}
	if fresh {
		e.countAttempt(a)
		a.Uncounted = true
	}
	a.Begun = t
	a.Compacting = true
	a.Trigger = ev.Trigger
}

// countAttempt counts the latest compaction attempt once: when its result
// arrives, when it lapses, or when another attempt follows. An attempt after
// which the client continues without a result is not counted, since it only
// wrote a summary for later use.
func (e *Engine) countAttempt(a *AgentState) {
	if a.Uncounted {
		a.Uncounted = false
		e.counters.Attempts[a.Trigger]++
	}
}

// Dismiss ends the compactions that began at or before the given time, have no
// result, and whose agents are back at their prompts or continue with their old
// contexts, as back reports. It returns the number of compactions ended.
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

// lapses returns the time at which a compaction without a result is given up, 0
// if none is in progress.
func (e *Engine) lapses(a *AgentState) Instant {
	if !a.Compacting {
		return 0
	}
	return a.Begun + e.settle()
}

// lapse gives up a compaction that has had no result for Options.Settle, so
// that a lost sign blocks nothing. Begun stays set: a late result still belongs
// to it.
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
				if ev.Key == a.Boundary && ev.Trigger != a.Made { // this copy has the final trigger
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

// triggerOf returns the trigger of a compaction or, if the sign has none, the
// trigger of its attempt.
func (e *Engine) triggerOf(a *AgentState, o *Event) Trigger {
	if o.Trigger == transcript.Unknown && a.Begun != 0 && o.at >= a.Begun &&
		o.at <= a.Begun+e.settle() {
		return a.Trigger
	}
	return o.Trigger
}

// shrunk reports whether a reading shows a compaction before any sign of it has
// arrived: the reading was made after the compaction began, and it is smaller than
// the last reading by more than two percentage points, the error of rounded
// percentages. Any other reading from the transcript shows that the client
// continued without compacting.
func (e *Engine) shrunk(a *AgentState, r *Reading) bool {
	before, known := a.current()
	if a.Begun == 0 || r.At <= a.Begun || r.At > a.Begun+e.settle() || !known ||
		r.At < before.At {
		return false
	}
	if r.Source == transcript.FromStatusline &&
		a.Readings[transcript.FromTranscript].At != 0 &&
		r.At <= a.Begun+lag {
		return false // may be a copy of an earlier reading that has not arrived yet
	}
	if r.Tokens+margin(r.Window) >= before.Tokens {
		if r.Source == transcript.FromTranscript {
			e.dismiss(a)
		}
		return false
	}
	return true
}

// guess opens a cycle without a sign. After guessesAnHour such cycles in an
// hour it only ends the compaction.
func (e *Engine) guess(a *AgentState, t Instant) {
	if len(a.Guesses) == guessesAnHour && a.Guesses[0] > t-Instant(time.Hour) {
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
	// The compaction happened some time before t: a smaller reading from then
	// belongs to the new cycle, too.
	if a.Before.Source == transcript.FromTranscript {
		begun = max(begun, a.Before.At)
	}
	a.Opened = min(a.Opened, begun+1)
}

// margin returns the largest difference, in tokens, between two figures for the
// same context.
func margin(window int64) int64 { return max(0, window) / 50 }

// noticeCompacted notifies the parent, or the operator if there is no parent,
// once that the agent was compacted and still runs.
func (e *Engine) noticeCompacted(a *AgentState, o *Event, trigger Trigger) {
	if trigger == transcript.Idle || a.Sent[KindCompacted].At != 0 {
		return
	}
	if trigger == transcript.Unknown &&
		(o.Sign == SignSessionStart || o.Sign == SignPostCompact) {
		return // the boundary will arrive with the trigger
	}
	d := a.data()
	d.Trigger = trigger.String()
	d.PreTokens = thousands(cmp.Or(o.PreTokens, a.Before.Tokens))
	e.send(a, KindCompacted, o.at, d)
}
