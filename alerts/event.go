package alerts

import (
	"time"

	"sm/transcript"
)

// Trigger is what made a client compact.
type Trigger = transcript.Trigger

// EventKind says what an event tells, and which fields of it count.
type EventKind uint8

// The kinds of events. All of them carry Agent and At.
const (
	// EventSeen says who an agent is: Parent, Name, Disabled. They replace what
	// was known.
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
	// EventReset says that the context began anew: Cause and, where the new session
	// is known, Key; Handoff for one of sm's own. After a rewind it is as large as Tokens, 0 for unknown, and what was
	// heard after Left and until Until is no longer in it.
	EventReset
	// EventTurnStart is a prompt, EventTurnEnd the end of a turn; a client that
	// waits at its prompt is idle, so EventTurnEnd is right for it too. Several
	// sources may tell of the same turn.
	EventTurnStart
	EventTurnEnd
	// EventActive says whether the agent's client runs: On.
	EventActive
	// EventAlert is another system's alert about the agent: Notice. It is said like
	// a notice of our own, unless that has been said, and stands for none that comes later.
	EventAlert
	// EventHeard says that the agent has heard a notice: Notice and Cycle.
	EventHeard
)

// Sign says by what a compaction became known.
type Sign uint8

// The signs of a compaction. The others are used inside only.
const (
	// SignBoundary is a record of the transcript: a boundary, or a summary that no
	// boundary owns.
	SignBoundary Sign = iota
	// SignSessionStart is the hook SessionStart with source compact. Neither it nor
	// SignComplete knows the trigger; that of the event is not looked at.
	SignSessionStart
	// SignPostCompact is the hook PostCompact.
	SignPostCompact
	// SignComplete is event:"compaction_complete".
	SignComplete
	signGuess // a shrunken context
	signClear
	signSession
	signHandoff
	signRewind
	signs
)

// Cause says what opened a cycle.
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
	Agent AgentID // an event without one is ignored
	// At is when it was true, by the clock of the machine on which the agent runs.
	// Without one the event counts as newer than all that the engine knows of the
	// agent.
	At time.Time

	Parent   AgentID
	Name     string
	Disabled bool // enabled: false; nothing is said about the agent

	Tokens int64 // of the context; for a percentage without a figure, its share of Window
	// Cleared is how many tokens a reading does not show that the client's automatic
	// compaction counts besides: see transcript.Reading.
	Cleared int64
	Window  int64 // in tokens, 0 when unknown
	// Reserved is how much of Window the client leaves out of its percentages, in tokens.
	Reserved int64
	Model    string
	// CompactsAt is the size in tokens at which the client is assumed to compact by
	// itself, by its version and what it was told; 0 when unknown, and for never.
	CompactsAt int64
	Source     transcript.Source
	// Back marks a sample of a client that has gone back in its conversation, which the
	// transcript shows with the next prompt: it stands for the context, and one without
	// Tokens makes that unknown.
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
	// Handoff is the key of the handoff that has cleared the context, 0 for none: it begins one cycle, whatever signs of it come.
	Handoff transcript.Key
	// Carried says of another session that its context goes on from an earlier one's, as
	// after a fork: what the status line shows is then no echo.
	Carried bool
	// Left and Until belong to a rewind.
	Left, Until transcript.Instant

	On     bool
	Notice Kind
}
