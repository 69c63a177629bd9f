package rotation

import (
	"time"

	"sm/alerts"
)

// Input is something that has happened: [Idle], [Prepared], [Typed], [Answered],
// [Started], [Heard], [Gone], [First] or [Compacted].
type Input interface{ input() }

// Idle says that an agent waits at its prompt: its turn has ended, and how its context
// could be cleared now.
type Idle struct {
	Agent   alerts.AgentID
	Way     Way
	Session string // its present one
	At      time.Time
}

// Prepared answers [Prepare]: the document has been looked at and stored, or not.
type Prepared struct {
	ID ID
	// Document and Channel say where the copy is, Read is the path that the prompt names.
	Document, Channel, Read string
	// Written is when the file was last written.
	Written time.Time
	// Plain is a name of the document that may be typed, "" where Read may.
	Plain string
	// Messages go into the prompt of a restarted client, each a line that begins with "[sm "
	// and ends with its id.
	Messages []string
	// Reason is "" when all is well.
	Reason string
	At     time.Time
}

// Typed answers [Clear], [Resume] and [Finish]. With Pressed the client may have got the
// text; without it nothing has happened, for Reason.
type Typed struct {
	ID      ID
	Prompt  bool // it answers Resume, or a Finish of the prompt
	Finish  bool
	Pressed bool
	Reason  string
	At      time.Time
}

// Answered is what `sm run` has made of [Restart]: a new client runs, or none does for
// Reason, with what it says in Detail. Untouched says that the old one goes on.
type Answered struct {
	ID             ID
	Reason, Detail string
	Untouched      bool
	At             time.Time
}

// Started says that a session has begun at an agent's place, by a hook or a new
// transcript.
type Started struct {
	Agent   alerts.AgentID
	Session string
	// Cleared says that a hook has reported /clear itself.
	Cleared bool
	At      time.Time
}

// Heard is a prompt that an agent's transcript shows. Of a long one the beginning is
// enough.
type Heard struct {
	Agent   alerts.AgentID
	Session string // the agent's present one
	Text    string
	At      time.Time
}

// Gone says that an agent's client has ended, and no `sm run` starts another.
type Gone struct {
	Agent alerts.AgentID
	At    time.Time
}

// Compacted says that an agent's context was compacted.
type Compacted struct{ Agent alerts.AgentID }

// First is the first context size of a session: High when it stands above the warning.
type First struct {
	Agent   alerts.AgentID
	Session string
	High    bool
}

func (Idle) input()     {}
func (Prepared) input() {}
func (Typed) input()    {}
func (Answered) input() {}
func (Started) input()  {}
func (Heard) input()    {}
func (Gone) input()     {}
func (First) input()    {}

func (Compacted) input() {}

// Effect is what is to be done once the state is stored: [Hold], [Prepare], [Clear],
// [Restart], [Resume], [Finish], [Release], [Report], [Withdraw], [Executed] or
// [Unhelpful].
type Effect interface{ effect() }

// Hold keeps back the messages to an agent: what it heard now would be cleared.
type Hold struct{ Agent alerts.AgentID }

// Prepare looks at the document, or makes it, and stores a copy. [Prepared] answers.
type Prepare struct{ Rotation Rotation }

// Clear types the command that clears the context, if the agent still waits at its
// prompt. [Typed] answers.
type Clear struct {
	Rotation Rotation
	Text     string
}

// Restart asks `sm run` for a new client with the rotation's prompt. [Answered]
// answers.
type Restart struct{ Rotation Rotation }

// Resume types the prompt into the new context. [Typed] answers.
type Resume struct{ Rotation Rotation }

// Finish presses Enter if the text stands at the agent's prompt, exactly and alone: an
// observer may have ended between the two. [Typed] answers.
type Finish struct {
	Rotation Rotation
	Text     string
	Prompt   bool
}

// Release lets messages go on.
type Release struct{ Agent alerts.AgentID }

// Report says why a rotation has failed. When Lost, the old context is gone or may
// be, and the new one does not know what to read.
type Report struct {
	Rotation Rotation
	Lost     bool
}

// Withdraw takes the copy of a document back that no context will be cleared for.
type Withdraw struct{ Rotation Rotation }

// Executed says that the new context has the document.
type Executed struct{ Rotation Rotation }

// Unhelpful says that the context that a rotation began stands above the warning from
// the start.
type Unhelpful struct{ Agent AgentRecord }

func (Hold) effect()      {}
func (Prepare) effect()   {}
func (Clear) effect()     {}
func (Restart) effect()   {}
func (Resume) effect()    {}
func (Finish) effect()    {}
func (Release) effect()   {}
func (Report) effect()    {}
func (Withdraw) effect()  {}
func (Executed) effect()  {}
func (Unhelpful) effect() {}
