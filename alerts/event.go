package alerts

import (
	"time"

	"sm/transcript"
)

// Trigger is what made a client compact.
type Trigger = transcript.Trigger

// EventKind selects the fields of an Event that apply.
type EventKind uint8

// The kinds of events. All of them carry Agent and At.
const (
	// EventSeen gives the identity of an agent: Parent, Name.
	EventSeen EventKind = iota + 1
	// EventReading gives a context size: Tokens, Window, Model, CompactsAt, Source;
	// History and Cycle for those met at a first start. Tokens of 0 are no reading.
	EventReading
	// EventCompacting is the PreCompact hook or event:"compaction": Trigger.
	EventCompacting
	// EventCompacted is a sign that a compaction has taken place: Sign, Trigger, and
	// for a boundary Key, PreTokens, Model, Window and CompactsAt. With History it only
	// teaches where clients compact.
	EventCompacted
	// EventReset means that the context began anew: Cause and, if the new
	// session is known, Key; Handoff for one of sm's own. After a rewind the
	// context has Tokens, 0 for unknown, and what the agent read after Left and
	// until Until is no longer in it.
	EventReset
	// EventTurnStart is a prompt, EventTurnEnd the end of a turn or a client
	// that waits at its prompt. Several sources may report the same turn.
	EventTurnStart
	EventTurnEnd
	// EventActive gives whether the agent's client runs: On.
	EventActive
	// EventAlert is an external alert about the agent: Notice. It becomes a
	// notice of that kind unless the cycle has one already.
	EventAlert
	// EventRead means that the agent has read a notice: Notice and Cycle.
	EventRead
)

// Sign is the source from which a compaction became known.
type Sign uint8

// The signs of a compaction. The others are used inside only.
const (
	// SignBoundary is a record of the transcript: a boundary, or a summary that no
	// boundary owns.
	SignBoundary Sign = iota
	// SignSessionStart is the hook SessionStart with source compact. It and
	// SignComplete come without a trigger; that of the event is ignored.
	SignSessionStart
	// SignPostCompact is the hook PostCompact.
	SignPostCompact
	// SignComplete is event:"compaction_complete".
	SignComplete
	signGuess // a shrunken context
	// The signs of resets are in the order of their causes.
	signClear
	signSession
	signHandoff
	signRewind
	signs
)

// Cause is what opened a cycle.
type Cause uint8

// The causes. The first cycle of an agent has none.
const (
	CauseNone Cause = iota
	CauseCompaction
	// CauseClear is the hook SessionStart with source clear, or
	// event:"context_reset".
	CauseClear
	// CauseSession is another session of the same agent.
	CauseSession
	// CauseHandoff is a rotation by a handoff.
	CauseHandoff
	// CauseRewind is a conversation that its user has rewound: it goes on from an
	// earlier point.
	CauseRewind
)

// String is the cause as logs and JSON write it.
func (c Cause) String() string {
	return Word(c, "none", "compaction", "clear", "session", "handoff", "rewind")
}

// Event is one thing that happened to an agent. It is a plain value.
type Event struct {
	Kind  EventKind
	Agent string // an event without one is ignored
	// At is the time at which the event was true, by the clock of the agent's
	// machine. Without one the event counts as newer than all earlier events of
	// the agent.
	At time.Time

	Parent string
	Name   string

	// Reading is the context. For a percentage without a figure, Tokens is its share of
	// Window. Its time is At.
	Reading
	// Back marks a sample of a client that has gone back in its conversation,
	// which the transcript shows only with the next prompt. The sample then
	// counts as the context; without Tokens the context is unknown.
	Back bool
	// History marks what happened before the first start. A reading of it that is
	// older than 10 minutes leads to no notice.
	History bool
	// Cycle is the number to begin with for an agent that is met for the first time
	// by a reading; 0 and 1 are the same.
	Cycle int

	Sign      Sign
	Trigger   Trigger
	PreTokens int64
	// Key is that of the compaction for a boundary, that of the new session's id for
	// a reset, else 0.
	Key   transcript.Key
	Cause Cause
	// Handoff is the key of the handoff that has cleared the context, 0 for
	// none: it begins one cycle, however many signs of it come.
	Handoff transcript.Key
	// Carried marks a session that continues the context of an earlier one, as
	// after a fork: its first samples are no echo.
	Carried bool
	// Left and Until belong to a rewind.
	Left, Until transcript.Instant

	On     bool
	Notice Kind

	at Instant // At, or what counts as it
}

// compacted reports whether a context that began anew was compacted.
func (ev *Event) compacted() bool { return ev.Cause == CauseCompaction }
