package alerts

import (
	"strconv"
	"time"
)

// AgentID names an agent, whose sessions follow each other.
type AgentID string

// Kind says what a notice is about.
type Kind uint8

// The kinds, in the order in which tables show them.
const (
	KindWarning Kind = iota
	KindCritical
	KindCompacted
	KindStorm
	KindNoData
	KindForecast
	kinds
)

// Kinds lists all of them, for metrics that show each.
func Kinds() [kinds]Kind {
	return [...]Kind{KindWarning, KindCritical, KindCompacted, KindStorm, KindNoData, KindForecast}
}

// String is the kind as metrics, JSON and the configuration write it.
func (k Kind) String() string {
	return Word(k, "warning", "critical", "compacted", "storm", "no_data", "forecast")
}

// Word is the word that stands for a value, "unknown" for a value of a later version.
func Word[T ~uint8](value T, words ...string) string {
	if int(value) >= len(words) {
		return "unknown"
	}
	return words[value]
}

// Key names a notice. The engine says each key once in its life.
type Key struct {
	// Agent is whom the notice is about, not who hears it.
	Agent AgentID `json:",omitzero"`
	// Cycle is the agent's cycle in which it was said, from 1 on.
	Cycle int  `json:",omitzero"`
	Kind  Kind `json:",omitzero"`
	// Ref tells notices of one kind and cycle apart: "operator" for the operator's
	// copy of what the parent hears too, the number of the episode for no-data,
	// else "".
	Ref string `json:",omitzero"`
}

// String is the key in one word, for logs and ids: agent/cycle/kind, and /ref.
func (k Key) String() string {
	s := string(k.Agent) + "/" + strconv.Itoa(k.Cycle) + "/" + k.Kind.String()
	if k.Ref != "" {
		s += "/" + k.Ref
	}
	return s
}

// Mode says how soon a message is to reach an agent.
type Mode uint8

// The modes, from the most patient on.
const (
	// Sequential waits for the end of the turn.
	Sequential Mode = iota
	// Important comes between two tool calls.
	Important
	// Urgent comes at once.
	Urgent
)

// String is the mode as the API writes it.
func (m Mode) String() string {
	return Word(m, "sequential", "important", "urgent")
}

// Role says who is to hear a notice, seen from the agent that it is about.
type Role uint8

// The roles.
const (
	Self Role = iota
	Parent
	Operator
)

// String is the role as logs write it.
func (r Role) String() string {
	return Word(r, "self", "parent", "operator")
}

// Target is who is to hear a notice. Agent is the id of the agent itself or of its
// parent, "" for the operator.
type Target struct {
	Role  Role
	Agent AgentID
}

// Action is what the engine decided: a [Say], [Withdraw], [SetLevel] or [Opened].
type Action interface{ action() }

// Say is a notice to be delivered.
type Say struct {
	Key  Key
	To   Target
	Mode Mode
	Text string
	// Plain says the same where Text is the user's own and not [Plain], else "": Text may
	// not be typed into a pane then.
	Plain string
	// At is the time of the reading or event that gave rise to it.
	At time.Time
}

// Withdraw takes back notices that have not been delivered yet. Those that have
// been are not affected.
type Withdraw struct {
	Keys []Key // in the order of their kinds
}

// SetLevel gives the agent's level, when it, the percentage or whether they are
// known have changed.
type SetLevel struct {
	Agent AgentID
	Level Level
	// Percent is the share of the window, 0..100, as the client shows it; Tokens the
	// context size at the time of this change. Both are 0 while Known is false:
	// between a compaction and the next reply the size is unknown.
	Percent int
	Tokens  int64
	Known   bool
}

// Opened says that a new cycle began. Reminders restart with it.
type Opened struct {
	Agent AgentID
	Cycle int // the new one
	Cause Cause
	// Unconfirmed cycles were opened by a shrunken context alone.
	Unconfirmed bool
	// Trigger and PreTokens belong to CauseCompaction; PreTokens is 0 when unknown.
	Trigger   Trigger
	PreTokens int64
	// Warned says that a warning or a critical notice was said in the cycle that
	// ended.
	Warned bool
	At     time.Time
}

func (Say) action()      {}
func (Withdraw) action() {}
func (SetLevel) action() {}
func (Opened) action()   {}
