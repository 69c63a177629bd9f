package rotation

import (
	"time"
)

// Input is an event: [Idle], [Prepared], [Typed], [Answered], [Started], [Prompted], [Gone],
// [First] or [Compacted].
type Input interface{ apply(m *Machine) }

// Idle means that an agent waits at its prompt.
type Idle struct {
	Agent   string
	Way     Way    // how its context could be cleared now
	Session string // its present one
	At      time.Time
}

// Prepared answers [Prepare]: the document has been examined and stored, or not.
type Prepared struct {
	ID       string
	Document string // id of the copy
	Channel  string
	Read     string    // the path in the prompt
	Plain    string    // a name of the document that may be typed, "" if Read may be
	Written  time.Time // when the file was last written
	Messages []string  // for the prompt of a restarted client; each begins with "[sm " and ends with its id
	Reason   string    // of a failure, else ""
	At       time.Time
}

// Typed answers [Type]. With Pressed the client may have got the text; without it nothing
// has happened, because of Reason.
type Typed struct {
	ID      string
	Prompt  bool // as of the Type, like Finish
	Finish  bool
	Pressed bool
	Reason  string
	At      time.Time
}

// Answered is the answer of `sm run` to [Restart]: a new client runs, or none does because
// of Reason. Untouched means that the old one continues.
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

// Prompted is a prompt in an agent's transcript, or the beginning of a long one.
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

// Compacted means that an agent's context was compacted.
type Compacted struct{ Agent string }

// First is the first context size of a session.
type First struct {
	Agent   string
	Session string
	High    bool // above the warning
}

// Effect is what to do once the state is stored: [Prepare], [Type], [Restart], [Report],
// [Withdraw], [Executed] or [Unhelpful].
type Effect any

// Prepare examines the document, or makes it, and stores a copy. [Prepared] answers.
type Prepare struct{ Rotation Rotation }

// Type types the command that clears the context, or with Prompt the prompt of the new
// one, if the agent is still at its prompt. With Finish it presses Enter if exactly the
// text is there: an observer may have ended after the paste. [Typed] answers.
type Type struct {
	Rotation       Rotation
	Text           string
	Prompt, Finish bool
}

// Restart asks `sm run` for a new client with the rotation's prompt. [Answered] answers.
type Restart struct{ Rotation Rotation }

// Report reports a failed rotation. With Lost the old context is or may be gone, and the
// new one has no prompt.
type Report struct {
	Rotation Rotation
	Lost     bool
}

// Withdraw withdraws the stored document: no context will be cleared for it.
type Withdraw struct{ Rotation Rotation }

// Executed means that the new context has the document.
type Executed struct{ Rotation Rotation }

// Unhelpful means that a context begun by a rotation is above the warning from its start.
type Unhelpful struct{ Agent AgentRecord }
