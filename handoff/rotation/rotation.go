// Package rotation carries one handoff from its call to the proof that the new context was
// told what to read, as a pure state machine: a [Machine] takes inputs and returns effects.
//
// Invariants:
//
//   - A context is cleared at most once for a rotation, and one that was cleared is told
//     what to read, or reported: what may have been typed is not typed again blindly.
//   - An agent has at most one rotation that has not ended.
//   - Each state is stored before what follows from it is done.
//
// It reads no file, types nothing and knows no clock: its caller gives the time with each
// input, and does the effects.
package rotation

import (
	"crypto/rand"
	"strings"
	"time"

	"sm/alerts"
)

// ID names a rotation. It fits into a path and an address.
type ID string

// NewID makes the id of a new rotation.
func NewID() ID { return ID("ro-" + strings.ToLower(rand.Text()[:10])) }

// Way is how a context is cleared.
type Way uint8

// The ways.
const (
	// WayNone is no way: the client can be reached neither in a pane nor under `sm run`.
	WayNone Way = iota
	// WayClear types /clear, WayNew types /new, as codex calls it.
	WayClear
	WayNew
	// WayRestart lets `sm run` start a new client.
	WayRestart
)

// String is the way as JSON and logs write it.
func (w Way) String() string {
	return alerts.Word(w, "none", "clear", "new", "restart")
}

// State is how far a rotation has come. Each is stored before what follows from it is
// done.
type State uint8

// The states in their order. The last three end a rotation.
const (
	// Scheduled rotations wait for the end of the turn.
	Scheduled State = iota
	// Reserved: the turn has ended, and the document is being looked at.
	Reserved
	// Clearing: /clear is being typed, or `sm run` asked to restart.
	Clearing
	// Cleared: there is a new context that knows nothing yet.
	Cleared
	// Resuming: the resume prompt is on its way.
	Resuming
	// Confirmed: the new session's transcript shows the prompt.
	Confirmed
	// Failed has a Reason.
	Failed
	// Cancelled: taken back, or replaced by a later one.
	Cancelled
)

// String is the state as JSON, logs and the command line write it.
func (s State) String() string {
	return alerts.Word(s, "scheduled", "reserved", "clearing", "cleared", "resuming", "confirmed", "failed", "cancelled")
}

// Ended says that nothing more will come of a rotation.
func (s State) Ended() bool { return s >= Confirmed }

// Touched says that the old context may be gone, or is: from here on nothing is begun
// anew.
func (s State) Touched() bool { return s >= Clearing && s <= Resuming }

// The reasons of failures that the rotation itself finds. Others are those of a
// [FileError], of the terminal and of `sm run`: each a word that is fit for a label.
const (
	ReasonFileGone    = "file_gone"          // the document has gone since it was scheduled
	ReasonNotPlain    = "name_not_plain"     // the document has no name that may be typed
	ReasonSlow        = "document_slow"      // the document could not be read in time
	ReasonReplaced    = "replaced"           // by a later call of the agent
	ReasonSession     = "session_changed"    // the agent has gone on to another session by itself
	ReasonExpired     = "expired"            // its turn has not ended for a day
	ReasonBusy        = "busy"               // the agent is at work again; it is tried again at the end of that
	ReasonNoTerminal  = "no_terminal"        // there is no way to clear the context
	ReasonGone        = "agent_gone"         // the client has ended
	ReasonClear       = "clear_unconfirmed"  // nothing has shown that the context was cleared
	ReasonPrompt      = "prompt_unconfirmed" // nothing has shown that the prompt was heard
	ReasonPromptLate  = "prompt_refused"     // the prompt could not be typed for long
	ReasonExhausted   = "restarts_exhausted" // `sm run` has no restarts left
	ReasonRefused     = "restart_refused"    // `sm run` may not restart this client
	ReasonRestart     = "restart_failed"     // `sm run` has ended the client, and no other came up
	ReasonRestartGone = "run_gone"           // `sm run` no longer asks
)

// Rotation is one handoff from its call to its end. It is a plain value.
type Rotation struct {
	ID    ID
	Agent alerts.AgentID
	// Path is the document's, absolute and as its author named it; "" for one that is to
	// be made from the transcript.
	Path string
	// Session is the one in which it was scheduled, Since when that began: the document
	// must not be older.
	Session string
	Since   time.Time
	// CWD is the directory of its project, by which the document's channel is found.
	CWD string

	State  State
	Reason string // of a failure, else ""
	Detail string // what `sm run` says of it, else ""
	Way    Way
	// Document is the id of the stored copy, Read the path that the prompt names.
	Document, Channel, Read string
	// Unused says that it ended before anything was cleared, and that the copy is for nobody.
	Unused bool `json:",omitzero"`
	// Plain is the name under which the prompt names the document where Read may not be
	// typed, "" for Read.
	Plain string `json:",omitzero"`
	// Written is when the document's file was last written, as of the copy.
	Written time.Time
	// Prompt is what the new context is given: a line that names the document, and for a
	// restarted client one for each message that it carries besides.
	Prompt string
	// Left is the session that is cleared, Next the new one, "" while unknown.
	Left, Next string
	// Overheard are sessions of nobody's in which the prompt was heard, the newest last: one of them may turn out to be the agent's.
	Overheard []Overheard `json:",omitempty"`
	// Made is when it was scheduled, Began when the turn had ended, Changed when it came
	// to its present state.
	Made, Began, Changed time.Time
	// Refused is since when the terminal has refused, zero when it has not; Last is its
	// reason. Tries counts the prompts that were typed.
	Refused time.Time
	Last    string
	Tries   int
	// Finished says that in this state a text which stood there was finished by Enter.
	Finished bool
	// After is when to try again at the earliest, Pause how long that was put off.
	After time.Time
	Pause time.Duration
}

// Overheard is a prompt that a session has heard before it was known whose the session is.
type Overheard struct {
	Session, Text string
	At            time.Time
}

// Auto says that the document is made by sm.
func (r *Rotation) Auto() bool { return r.Path == "" }

// AgentRecord is what is kept of an agent besides its rotations.
type AgentRecord struct {
	Agent alerts.AgentID
	// Path and Document are those of the last handoff that was carried out, At is when.
	Path, Document, Channel string
	At                      time.Time
	// Session began by that handoff. Judged says that its first context size has been
	// looked at, Futile that it stood above the warning already.
	Session        string
	Judged, Futile bool
	// Executed are the times of the rotations that count for the breaker, oldest first.
	Executed []time.Time
}

// Counters count rotations by how they ended, and refusals to begin one. They never
// fall, and are a plain value.
type Counters struct {
	Confirmed, Failed, Cancelled uint64
	// Refused counts calls that were turned away, without those of the next two:
	// Breaker those of an agent that rotates too often, Futile those that would not help.
	Refused, Breaker, Futile uint64
}

// Outcomes are the names of the counters, for metrics that show each.
func Outcomes() [6]string {
	return [...]string{"confirmed", "failed", "cancelled", "refused", "breaker", "futile"}
}

// Count is the counter of an outcome, 0 for a name that is none.
func (c *Counters) Count(outcome string) uint64 {
	for i, name := range Outcomes() {
		if name == outcome {
			return [...]uint64{c.Confirmed, c.Failed, c.Cancelled, c.Refused, c.Breaker, c.Futile}[i]
		}
	}
	return 0
}
