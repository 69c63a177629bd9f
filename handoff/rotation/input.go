package rotation

import (
	"time"
)

// Input is an event: [Idle], [Prepared], [Typed], [Answered], [Started], [Prompted], [Gone],
// [First] or [Compacted].
type Input interface{ apply(m *Machine) }

// Idle means that an agent is waiting at its prompt.
type Idle struct {
	Agent   string
	Way     Way    // how its context can be cleared now
	Session string // its present one
	At      time.Time
}

// Prepared is the answer to [Prepare]: the document has been examined and
// stored, or the attempt failed.
type Prepared struct {
	ID       string
	Document string // id of the stored copy
	Channel  string
	Read     string    // the path in the prompt
	Plain    string    // a name of the document that may be typed, "" if Read may be typed
	Written  time.Time // when the file was last written
	Messages []string  // for the prompt of a restarted client; each begins with "[sm " and ends with its id
	Reason   string    // of a failure, else ""
	At       time.Time
}

// Typed is the answer to [Type]. With Pressed the client may have got the text;
// without it nothing has happened, because of Reason. In the state Scheduled it
// means that the client cannot be restarted now, because of Reason.
type Typed struct {
	ID      string
	Prompt  bool // Prompt and Finish are those of the Type
	Finish  bool
	Pressed bool
	Reason  string
	At      time.Time
}

// Answered is the answer of `sm run` to [Restart]: a new client runs, or none
// because of Reason. Untouched means that the old client continues.
type Answered struct {
	ID             string
	Reason, Detail string
	Untouched      bool
	At             time.Time
}

// Started means that a session of an agent has begun, by a hook or a new transcript.
type Started struct {
	Agent   string
	Session string
	Cleared bool // a hook has reported /clear itself
	At      time.Time
}

// Prompted is a prompt in an agent's transcript, or the beginning of a long
// one.
type Prompted struct {
	Agent   string
	Session string // the agent's present one
	Text    string
	At      time.Time
}

// Gone means that an agent's client has ended and `sm run` starts no other.
type Gone struct {
	Agent string
	At    time.Time
}

// Compacted means that an agent's context was compacted or rewound.
type Compacted struct {
	Agent string
	At    time.Time
}

// First is the first context size of a session.
type First struct {
	Agent   string
	Session string
	High    bool // above the warning
}

// Effect is an action to execute once the state is stored: [Prepare], [Type],
// [Restart], [Report], [Withdraw], [Executed] or [Unhelpful].
type Effect any

// Prepare asks to examine the document, or to make it, and to store a copy.
// [Prepared] is the answer.
type Prepare struct{ Rotation Rotation }

// Type asks to type the command that clears the context or, with Prompt, the
// prompt of the new context, if the agent is still at its prompt. With Finish
// it asks to press Enter if the input box holds exactly the text: an observer
// may have ended after the paste. [Typed] is the answer.
type Type struct {
	Rotation       Rotation
	Text           string
	Prompt, Finish bool
}

// Restart asks `sm run` for a new client with the rotation's prompt. [Answered]
// is the answer.
type Restart struct{ Rotation Rotation }

// Report reports a failed rotation. With Lost the old context is or may be
// gone, and the new context has no prompt.
type Report struct {
	Rotation Rotation
	Lost     bool
}

// Withdraw asks to withdraw the stored document: no context will be cleared for
// it.
type Withdraw struct{ Rotation Rotation }

// Executed means that the new context has the document.
type Executed struct{ Rotation Rotation }

// Unhelpful means that the context after a rotation was above the warning from
// its start.
type Unhelpful struct{ Agent AgentRecord }
