package alerts

import (
	"time"

	"sm/transcript"
)

// Trigger is the cause of a compaction.
type Trigger = transcript.Trigger

// EventKind selects the fields of an Event that apply.
type EventKind uint8

// The kinds of events. All of them carry Agent and At.
const (
	// EventSeen reports the identity of an agent: Parent, Name.
	EventSeen EventKind = iota + 1
	// EventReading reports a context size: Tokens, Window, Model, CompactsAt,
	// Source; History and Cycle for readings found at a first start. An event
	// with 0 Tokens is not a reading.
	EventReading
	// EventCompacting is the PreCompact hook or event:"compaction": Trigger.
	EventCompacting
	// EventCompacted is a sign of a finished compaction: Sign, Trigger, and for
	// a boundary Key, PreTokens, Model, Window and CompactsAt. With History it
	// only records the size at which the client compacted.
	EventCompacted
	// EventReset means that the agent has a new context: Cause and, if the new
	// session is known, Key; Handoff for one of sm's own. After a rewind the
	// context has Tokens, 0 for unknown, and no longer contains what the agent
	// read after Left and until Until.
	EventReset
	// EventTurnStart is a prompt, EventTurnEnd the end of a turn or a client
	// waiting at its prompt. Several sources may report the same turn.
	EventTurnStart
	EventTurnEnd
	// EventActive is the state of the agent's client: On means that it runs.
	EventActive
	// EventAlert is an external alert about the agent: Notice. It becomes a
	// notice of that kind unless the cycle has one already.
	EventAlert
	// EventRead means that the agent has read a notice: Notice and Cycle.
	EventRead
)

// Sign is the source from which a compaction became known.
type Sign uint8

// The signs of a compaction. The unexported ones are set by the engine.
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
	signGuess // a smaller context without another sign
	// Signs of resets, in the order of their causes.
	signClear
	signSession
	signHandoff
	signRewind
	signs
)

// Cause is the reason for a new cycle.
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
	// CauseRewind is a rewind: the conversation continues from an earlier
	// point.
	CauseRewind
)

// String returns the cause as logs and JSON write it.
func (c Cause) String() string {
	return Word(c, "none", "compaction", "clear", "session", "handoff", "rewind")
}

// Event is one event of an agent. It is a plain value.
type Event struct {
	Kind  EventKind
	Agent string // an event without one is ignored
	// At is the time of the event, by the clock of the agent's machine. An
	// event without a time counts as newer than all earlier events of the
	// agent.
	At time.Time

	Parent string
	Name   string

	// Reading is the context. If the source has only a percentage, Tokens is
	// its share of Window. The time of the reading is At.
	Reading
	// Back marks a sample of a client that has gone back in its conversation,
	// which the transcript shows only with the next prompt. The sample then
	// counts as the context; without Tokens the context is unknown.
	Back bool
	// History marks events from before the first start. A reading older than 10
	// minutes with History causes no notice.
	History bool
	// Cycle is the number of the first cycle of an agent whose first event is
	// this reading; 0 means 1.
	Cycle int

	Sign      Sign
	Trigger   Trigger
	PreTokens int64
	// Key is the key of the compaction for a boundary, the key of the new
	// session's id for a reset, else 0.
	Key   transcript.Key
	Cause Cause
	// Handoff is the key of the handoff that cleared the context, 0 for none.
	// It opens one cycle, however many signs of it arrive.
	Handoff transcript.Key
	// Carried marks a session that continues the context of an earlier one, as
	// after a fork: its first samples are no echo.
	Carried bool
	// Left and Until belong to a rewind.
	Left, Until transcript.Instant

	On     bool
	Notice Kind

	at Instant // At or, for an event without a time, its substitute
}

// compacted reports whether the event belongs to a compaction.
func (ev *Event) compacted() bool { return ev.Cause == CauseCompaction }
