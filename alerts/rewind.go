package alerts

import (
	"cmp"

	"sm/transcript"
)

// rewound opens a cycle after the client has gone back in its conversation. What it says
// is exact, so no other sign belongs to it.
func (e *Engine) rewound(a *AgentState, ev *Event, t Instant) {
	if t <= a.Opened {
		return // of a cycle before, or told again
	}
	e.open(a, &opening{sign: signRewind, cause: CauseRewind, at: t, left: ev.Left, until: ev.Until})
	if ev.Tokens <= 0 {
		return
	}
	e.take(a, ev.reading(t, transcript.FromTranscript))
	e.decide(a)
}

// gone notes that the client shows no context any more: it has gone back to the very
// beginning.
func (e *Engine) gone(a *AgentState, t Instant) {
	if t < a.Opened || t < a.Sampled || t <= a.Readings[transcript.FromTranscript].At {
		return
	}
	a.Sampled, a.Back = t, t
	e.levelOf(a)
}

// hear notes when a notice that still holds was heard.
func (a *AgentState) hear(k Kind, cycle int, t Instant) {
	if k < kinds && a.Said[k].At != 0 && a.Said[k].Key.Cycle == cycle {
		a.Said[k].Heard = t
	}
}

// stands says whether a notice about the context still holds after a rewind: the agent
// has heard it in a part of the conversation that it still has. A mild one that counts as
// said because of the critical one goes with that.
func (a *AgentState) stands(k Kind, o *opening) bool {
	s := a.Said[k]
	if o.cause != CauseRewind || s.At == 0 {
		return false
	}
	if s.Key.Agent == "" && k != KindCritical {
		return a.stands(KindCritical, o)
	}
	at := cmp.Or(s.Heard, s.At) // it waits, or nobody says: then it matters when it was due
	return at <= o.left || at > o.until
}
