// Package rotation implements handoffs as a pure state machine, from the call
// to the proof that the new context has its prompt. A [Machine] takes inputs
// and returns effects.
//
// Invariants:
//
//   - A context is cleared at most once for a rotation. A cleared context gets
//     its prompt or is reported: a text that may have been typed is not typed
//     again blindly.
//   - An agent has at most one rotation that has not ended.
//   - Each state is stored before its effects are executed.
//
// The package reads no file, types nothing and has no clock: callers pass the
// time with each input and execute the effects.
package rotation

import (
	"crypto/rand"
	"strings"
	"time"

	"sm/alerts"
)

// NewID returns a new id that can be part of a path or URL.
func NewID() string { return "ro-" + strings.ToLower(rand.Text()[:10]) }

// Way is the way to clear a context.
type Way uint8

// The ways.
const (
	// WayNone: the client is neither in a pane nor under `sm run`.
	WayNone  Way = iota
	WayClear     // types /clear
	WayNew       // types /new
	// WayRestart means that `sm run` starts a new client.
	WayRestart
)

// String returns the way as JSON and logs write it.
func (w Way) String() string {
	return alerts.Word(w, "none", "clear", "new", "restart")
}

// State is the progress of a rotation.
type State uint8

// The states in their order. The last three end a rotation.
const (
	Scheduled State = iota // waits for the end of the turn
	Reserved               // the turn has ended, and the document is being examined
	Clearing               // /clear is being typed, or `sm run` was asked to restart
	Cleared                // there is a new context without a prompt
	Resuming               // the prompt is on its way
	Confirmed              // the new session's transcript shows the prompt
	Failed                 // because of Reason
	Cancelled              // by a call, or replaced by a later rotation
)

// String returns the state as JSON, logs and the command line write it.
func (s State) String() string {
	return alerts.Word(
		s,
		"scheduled",
		"reserved",
		"clearing",
		"cleared",
		"resuming",
		"confirmed",
		"failed",
		"cancelled",
	)
}

// Ended reports whether the state is final.
func (s State) Ended() bool { return s >= Confirmed }

// Touched reports whether the old context is or may be gone. From here on
// nothing is started again.
func (s State) Touched() bool { return s >= Clearing && s <= Resuming }

// The reasons for a failure or cancellation by the rotation itself. Others come
// from the document, the terminal and `sm run`. Each is a word that can be a
// label.
const (
	ReasonFileGone    = "file_gone"          // the document was removed after scheduling
	ReasonNotPlain    = "name_not_plain"     // the document has no name that may be typed
	ReasonSlow        = "document_slow"      // the document could not be read in time
	ReasonReplaced    = "replaced"           // by a later call of the agent
	ReasonCompacted   = "compacted"          // the agent's context has room again
	ReasonSession     = "session_changed"    // the agent has changed to another session by itself
	ReasonExpired     = "expired"            // the agent's turn has not ended for a day
	ReasonBusy        = "busy"               // the agent works again; retried after its turn
	ReasonNoTerminal  = "no_terminal"        // the context cannot be cleared
	ReasonGone        = "agent_gone"         // the client has ended
	ReasonClear       = "clear_unconfirmed"  // no proof that the context was cleared
	ReasonPrompt      = "prompt_unconfirmed" // no proof that the client has the prompt
	ReasonPromptLate  = "prompt_refused"     // the prompt could not be typed in time
	ReasonExhausted   = "restarts_exhausted" // `sm run` has no restarts left
	ReasonRefused     = "restart_refused"    // `sm run` may not restart this client
	ReasonRestart     = "restart_failed"     // `sm run` has ended the client but started no other
	ReasonRestartGone = "run_gone"           // `sm run` no longer requests instructions
)

// Rotation is one handoff from its call to its end. It is a plain value.
type Rotation struct {
	ID      string
	Agent   string
	Path    string    // of the document, absolute; "" for one made from the transcript
	Session string    // the session that scheduled it
	Since   time.Time // when that session began; the document must not be older
	CWD     string    // the project's folder, which determines the document's channel

	State    State
	Reason   string // of a failure, else ""
	Detail   string // the explanation of `sm run`, else ""
	Way      Way
	Document string // id of the stored copy
	Channel  string
	Read     string    // the document's path in the prompt
	Unused   bool      `json:",omitzero"` // it ended before the clear; the copy is not given
	Plain    string    `json:",omitzero"` // the name in the prompt if Read may not be typed
	Written  time.Time // when the document's file was last written, as of the copy
	// Prompt is the first prompt of the new context: a line that names the
	// document and, for a restarted client, a line for each message.
	Prompt string
	Left   string // the old session, which is cleared
	Next   string // the new session, "" while unknown
	// Unassigned are prompts in sessions of unknown agents, the newest last.
	// Free places are zero.
	Unassigned [maxUnassigned]Prompted `json:"Overheard,omitzero"`

	Made     time.Time     // when it was scheduled
	Began    time.Time     // when the turn ended
	Changed  time.Time     // when it entered its state
	Refused  time.Time     // since when the terminal refuses, zero if it does not
	Last     string        // the reason of the last refusal
	Tries    int           // how often the prompt was typed
	Finished bool          // Enter was pressed for a text at the prompt in this state
	After    time.Time     // earliest time of the next attempt
	Pause    time.Duration // the newest pause before an attempt
}

// Auto reports whether the document is made from the transcript.
func (r *Rotation) Auto() bool { return r.Path == "" }

// AgentRecord is the state stored for an agent besides its rotations.
type AgentRecord struct {
	Agent string
	// The last confirmed handoff:
	Path    string
	At      time.Time
	Session string // the session that it began
	Judged  bool   // the first context size of Session has been checked
	Futile  bool   // that size was above the warning
	// Executed are the times of the rotations that count for the breaker,
	// oldest first.
	Executed []time.Time
}

// Counters count rotations by their end, and refused calls by their reason.
type Counters map[string]uint64

// Outcomes returns the names of the counters: the ends of rotations, and calls
// that were refused because the agent rotates too often (breaker), because a
// rotation would not help (futile), or for another reason (refused).
func Outcomes() [6]string {
	return [...]string{"confirmed", "failed", "cancelled", "refused", "breaker", "futile"}
}
