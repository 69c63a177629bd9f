package alerts

import (
	"cmp"

	"sm/transcript"
)

// belongs reports whether a sign belongs to the current cycle or an earlier
// one, and therefore opens no cycle.
func (e *Engine) belongs(a *AgentState, o *Event) bool {
	fresh := a.First == 0
	r, known := a.current()
	switch {
	case o.at < a.Opened || !fresh && o.at <= a.First:
		return true
	case o.Handoff != 0 && o.Handoff == a.Handoff && (o.Key == 0 || !a.Keyed):
		return true // however late: the prompt waits for minutes while a person types
	case o.at > a.Opened+e.settle():
		return false
	case o.Sign == SignBoundary && a.Boundary != 0 && o.Key != 0:
		return false // two boundaries are two compactions, however close
	case !o.compacted() && o.Key != 0 && a.Keyed:
		return false // two session keys are two sessions
	case o.Handoff != 0:
		// Another handoff, unless an older version, which stored no key, opened this
		// cycle.
		return a.Handoff == 0 && a.Cause == CauseHandoff
	case a.Cause == CauseNone:
		return false
	case a.Cause == CauseCompaction && (o.Sign == signClear || o.Sign == signHandoff):
		return false // a new session, in contrast, may be how an old client compacts
	case fresh:
		return true
	case o.compacted() != (a.Cause == CauseCompaction), !o.compacted() &&
		o.at > a.Opened+skew:
		return false
	case a.Begun > a.First && o.at >= a.Begun:
		return false // another compaction has begun since
	case o.compacted() && known && a.Before.Tokens > 0 &&
		r.Tokens+margin(r.Window) >= a.Before.Tokens:
		return false // the context has grown back to its size before the cycle
	}
	// A late sign of this cycle, unless a sign of the same kind has arrived
	// before.
	seen := a.Signs[o.Sign]
	return seen == 0 || max(seen-o.at, o.at-seen) <= duplicate
}

// sign opens a cycle, or adds the sign to the current one.
func (e *Engine) sign(a *AgentState, o *Event) {
	if !e.belongs(a, o) {
		e.open(a, o)
		return
	}
	other := o.compacted() != (a.Cause == CauseCompaction)
	// A sign that is older than the last reading of the previous cycle belongs
	// to that cycle. Status line samples show the old context for a while after
	// the sign.
	older := o.at <= a.Before.At &&
		(a.Before.Source == transcript.FromTranscript || o.at <= a.Before.At-skew)
	if o.at < a.Opened && (other || older || a.Opened-o.at > e.settle()) {
		return
	}
	if a.Cause == CauseNone {
		return // older than everything recorded for the agent
	}
	a.Opened = min(a.Opened, o.at)
	if o.compacted() {
		a.Cause = CauseCompaction
	}
	e.join(a, o)
}

// join adds a sign to the opening of the current cycle.
func (e *Engine) join(a *AgentState, o *Event) {
	a.Signs[o.Sign] = cmp.Or(a.Signs[o.Sign], o.at)
	trigger := e.triggerOf(a, o)
	if o.at >= a.Begun {
		e.countAttempt(a)
		a.endCompaction()
	}
	if !o.compacted() {
		if o.Key != 0 {
			a.Session = o.Key
			a.Keyed = true
		}
		a.Handoff = cmp.Or(a.Handoff, o.Handoff)
		return
	}
	if o.Sign == SignBoundary {
		a.Guesses = nil
		a.Boundary = cmp.Or(a.Boundary, o.Key)
	}
	e.noticeCompacted(a, o, trigger)
	e.count(a, o, trigger)
}

// open begins a cycle.
func (e *Engine) open(a *AgentState, o *Event) {
	before, _ := a.current()
	act := Opened{
		Agent:       a.Agent,
		Cycle:       a.Cycle + 1,
		Cause:       o.Cause,
		Unconfirmed: o.Sign == signGuess,
		Trigger:     transcript.Unknown,
		At:          o.at.Time(),
	}
	if o.compacted() {
		act.Trigger = e.triggerOf(a, o)
		act.PreTokens = cmp.Or(o.PreTokens, before.Tokens)
	}
	if o.Cause != CauseRewind { // samples show a rewind before the transcript does
		e.dateBackEcho(a, o.at)
	}
	for _, k := range []Kind{KindWarning, KindCritical} {
		act.Warned = act.Warned || a.Sent[k].Key.Agent != "" && a.Sent[k].At <= o.at
	}
	e.out = append(e.out, act)
	a.Cycle++
	a.Opening = Opening{
		Opened: o.at,
		Cause:  o.Cause,
		Made:   transcript.Unknown,
	}
	e.withdrawOld(a, o)
	// Readings from before the opening leave the cycle; Before keeps the
	// newest.
	for i, r := range a.Readings {
		if r.At > o.at {
			a.First = sooner(a.First, r.At)
			continue
		}
		if r.At > a.Before.At {
			a.Before = r
		}
		a.Readings[i] = Reading{}
	}
	a.Growth.open(a)
	if o.Carried {
		a.Before = Reading{}
	}
	e.levelOf(a)
	e.join(a, o)
	e.decide(a)
}

// dateBackEcho sets the time of a sample to that of the opening if it shows the
// context from before the opening.
func (e *Engine) dateBackEcho(a *AgentState, at Instant) {
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
	if !e.echo(*sample, before, at) {
		return
	}
	for k := range a.Sent {
		if a.Sent[k].At == sample.At {
			a.Sent[k].At = at
		}
	}
	sample.At = at
}

// withdrawOld withdraws the notices of the previous cycle. Notices based on a
// reading newer than the opening belong to the new cycle and stay.
func (e *Engine) withdrawOld(a *AgentState, o *Event) {
	old := contextKinds()
	if !o.compacted() && o.Cause != CauseRewind {
		// A clear makes the report of an earlier compaction pointless.
		old = append(old, KindCompacted)
	}
	var gone []Kind
	for _, k := range old {
		if s := a.Sent[k]; s.At != 0 && (s.At <= o.at || k == KindCompacted) &&
			!a.stillValid(k, o) {
			gone = append(gone, k)
		}
	}
	e.withdraw(a, gone...)
	for _, k := range gone {
		a.Sent[k] = Sent{}
	}
	if o.Cause != CauseRewind {
		a.Sent[KindCompacted] = Sent{}
		a.Sent[KindStorm] = Sent{}
	}
}

// reset handles a sign that the context was discarded.
func (e *Engine) reset(a *AgentState, o *Event) {
	o.Sign = signGuess + Sign(o.Cause-CauseCompaction)
	if o.Cause == CauseRewind {
		e.rewound(a, o)
		return
	}
	if o.Key != 0 && o.Key == a.Session {
		return
	}
	if a.Data == 0 && a.Cause == CauseNone {
		// Nothing has been read yet: this is the agent's first session in its
		// first cycle.
		a.Opened = max(a.Opened, o.at)
		a.Session = o.Key
		a.Keyed = o.Key != 0
		return
	}
	e.sign(a, o)
}

// endCompaction ends the current compaction.
func (a *AgentState) endCompaction() {
	a.Begun = 0
	a.Compacting = false
	a.Trigger = transcript.Unknown
}

// rewound opens a cycle after a rewind of the conversation. The transcript
// records a rewind exactly, so no other sign belongs to the cycle.
func (e *Engine) rewound(a *AgentState, o *Event) {
	if o.at <= a.Opened {
		return // of an earlier cycle, or a duplicate
	}
	e.open(a, o)
	if o.Tokens <= 0 {
		return
	}
	o.Source = transcript.FromTranscript
	e.take(a, o.Reading)
	e.decide(a)
}

// clearContext handles a sample without tokens of a client that has gone back
// to the beginning of its conversation.
func (e *Engine) clearContext(a *AgentState, t Instant) {
	if t < a.Opened || t < a.Sampled || t <= a.Readings[transcript.FromTranscript].At {
		return
	}
	a.Sampled = t
	a.Back = t
	e.levelOf(a)
}

// stillValid reports whether a notice is still valid after a rewind, because
// the agent read it in the part of the conversation that remains. A milder
// notice that was covered by the critical notice is valid as long as that
// notice is.
func (a *AgentState) stillValid(k Kind, o *Event) bool {
	s := a.Sent[k]
	if o.Cause != CauseRewind || s.At == 0 {
		return false
	}
	if s.Key.Agent == "" && k != KindCritical {
		return a.stillValid(KindCritical, o)
	}
	at := cmp.Or(s.Read, s.At) // the time of its cause if it was not read
	return at <= o.Left || at > o.Until
}
