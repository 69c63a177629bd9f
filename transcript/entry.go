package transcript

import "time"

// Kind is the meaning of a record for its session.
type Kind uint8

const (
	// KindOther records have no meaning here except for their time and version.
	KindOther Kind = iota
	// KindReading is an assistant record with a usage, which has the context
	// size.
	KindReading
	// KindBoundary is a system/compact_boundary record.
	KindBoundary
	// KindSummary is a user record with the summary of a compaction.
	KindSummary
	// KindTitle is a record of type "summary": a session's title. Its Parent is
	// the last record of the conversation that it names.
	KindTitle
	// KindTurnStart is a user record with a prompt.
	KindTurnStart
	// KindTurnEnd is system/turn_duration, or the record of an interruption.
	KindTurnEnd
	// KindContext is a record of a text that reached the agent besides prompts:
	// a hook's context attachment, or a queued prompt.
	KindContext
	// KindAside is a user record that is neither a prompt nor the result of a
	// tool: a command, its output, a remark of the client.
	KindAside
	// KindRewind is the client's note that the conversation was rewound and
	// continues with the previous user record.
	KindRewind
	// KindIdleNotice is the client's notice, after a boundary, that it
	// compacted an idle conversation.
	KindIdleNotice
	// KindContinued is the end of a session that continues under another id,
	// which is the entry's Text.
	KindContinued
)

// Trigger is the cause of a compaction.
type Trigger uint8

// The triggers. Their values are stored. Idle is a compaction that the client
// made by itself while no turn was open, to use the prompt cache before it
// expires (Claude Code since 2.1.299); it is unrelated to the compaction
// threshold.
const (
	Auto Trigger = iota
	Manual
	Unknown
	Idle
	triggers
)

// Forced reports whether a full context may have forced the compaction, because
// it was made neither by hand nor while the conversation was idle.
func (t Trigger) Forced() bool { return t == Auto || t == Unknown }

// TriggerOf returns the trigger for a client's word, Unknown for other words.
func TriggerOf(word string) Trigger {
	switch word {
	case "auto":
		return Auto
	case "manual":
		return Manual
	}
	return Unknown
}

// TriggerCounts counts compactions by Trigger.
type TriggerCounts [triggers]int

// Total returns the number of compactions of all triggers.
func (c TriggerCounts) Total() int {
	n := 0
	for _, k := range c {
		n += k
	}
	return n
}

// String returns the trigger as metrics and JSON write it.
func (t Trigger) String() string {
	switch t {
	case Auto:
		return "auto"
	case Manual:
		return "manual"
	case Idle:
		return "idle"
	}
	return "unknown"
}

// Instant is a time in nanoseconds since 1970 UTC, between 1970 and 2262; 0
// means no time. It takes 8 bytes, where time.Time takes 24, and a fleet stores
// many.
type Instant int64

// InstantOf converts a time; it returns 0 for times outside the range.
func InstantOf(t time.Time) Instant {
	if y := t.UTC().Year(); y < 1970 || y > 2261 {
		return 0
	}
	return Instant(t.UnixNano())
}

// Time converts to time.Time in UTC, and 0 to the zero time.
func (i Instant) Time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(i)).UTC()
}

// Usage holds token figures as an API message reports them, each 0..1e9 in one
// message; sums may be larger.
type Usage struct {
	Input, CacheCreation, CacheRead, Output int64
}

// Context returns the size of the context: all input, without output.
func (u Usage) Context() int64 { return u.Input + u.CacheCreation + u.CacheRead }

// Plus returns the sum of u and v.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		u.Input + v.Input,
		u.CacheCreation + v.CacheCreation,
		u.CacheRead + v.CacheRead,
		u.Output + v.Output,
	}
}

// Minus returns the difference of u and v; figures may become negative.
func (u Usage) Minus(v Usage) Usage {
	return Usage{
		u.Input - v.Input,
		u.CacheCreation - v.CacheCreation,
		u.CacheRead - v.CacheRead,
		u.Output - v.Output,
	}
}

// Entry is the content of one record. Its byte slices point into the scanned
// line and are valid until the line's buffer is used again.
type Entry struct {
	Kind Kind
	// Side marks a record of a subagent (isSidechain).
	Side bool
	// UUID identifies the record, Origin the record that it was copied from
	// (forkedFrom.messageUuid); both are 0 for KindOther. Parent is the record
	// before it, of readings, prompts, asides and summaries; Message the API
	// message of a reading.
	UUID, Parent, Origin, Message Key
	// Turn is the client's number of the turn that a prompt belongs to, from 1,
	// or 0 if the record has none. Prompts that are sent together share a turn.
	Turn int64
	// Anchor is the uuid of the summary that a boundary names.
	Anchor Key
	// At is the record's timestamp, 0 when it has none.
	At Instant
	// Usage is the cost of the message of a reading; Context is its context size in
	// tokens, more than 0.
	Usage   Usage
	Context int64
	// Cleared is the number of tokens of tool results that were left out of the
	// request of a reading, by the client's own figures. Partial marks a line
	// without this figure that does not end its message: there the fold uses
	// the line before it.
	Cleared int64
	Partial bool
	// Marker marks a boundary that took no time and is its own anchor. Clients
	// treat it as a compaction only if a summary follows.
	Marker bool
	// Trigger, PreTokens and Duration belong to a boundary. PreTokens is 0 if
	// the record lacks it.
	Trigger   Trigger
	PreTokens int64
	Duration  time.Duration
	// Precomputed marks a boundary whose summary was written earlier, in the
	// background. Its Duration is 0.
	Precomputed bool
	// Digest is the key of a summary's text, 0 for a text of less than 200
	// bytes, whose hash would not show where the text is from.
	Digest Key
	// Text is a text that reached the agent, at most 1024 bytes: the first 1008
	// and the last 16 of a longer one. Such texts are hook contexts, prompts
	// that begin with "[sm ", and resume prompts. Of up to 8 further messages
	// below the first line of a long prompt, 68 bytes each are added. The Text
	// of a KindContinued record is the other session's id. The Text of a
	// KindAside record is "/clear" if a session begins with that command.
	Text string
	// InOrder marks a reading or a compaction in a file whose order is the
	// order of events. The fold sets it.
	InOrder bool
	// Rewound means that the conversation was rewound before this record. The
	// fold sets it. Context and Cleared are then those of the point from which
	// the conversation continues, 0 if there was no reading. Texts delivered
	// after Left, until Until, are no longer part of the conversation.
	Rewound     bool
	Left, Until Instant
	// Model, Version, CWD and SessionID are as the record writes them, nil if
	// it does not.
	Model, Version, CWD, SessionID []byte
	// Branch is the git branch. Title is the session's title in the record, and
	// Titled its source; the text of a prompt serves as a title if there is no
	// better one.
	Branch, Title []byte
	Titled        TitleSource
	// Calls are the tool calls in a record of the model, or the results in a
	// record of the user, in their order. The slice is reused with the entry.
	Calls []Call
}

// Reading returns the context size of a reading or a rewind.
func (e *Entry) Reading() Reading {
	return Reading{At: e.At, Tokens: e.Context, Cleared: e.Cleared}
}
