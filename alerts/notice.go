package alerts

import (
	"strconv"
	"time"
)

// Kind is the subject of a notice.
type Kind uint8

// The kinds, in the order in which tables show them.
const (
	KindWarning Kind = iota
	KindCritical
	KindCompacted
	KindStorm
	KindNoData
	KindForecast
	// Kinds is the number of kinds.
	Kinds
)

// String returns the kind as metrics, JSON and the configuration write it.
func (k Kind) String() string {
	return Word(k, "warning", "critical", "compacted", "storm", "no_data", "forecast")
}

// Word returns the word for a value, "unknown" for a value of a later version.
func Word[T ~uint8](value T, words ...string) string {
	if int(value) >= len(words) {
		return "unknown"
	}
	return words[value]
}

// Changes calls put with each value that differs from its entry in taken, and
// with nil for each entry of taken that is no longer in all. It updates taken
// and reports whether there were changes.
func Changes[T comparable](
	all map[string]*T,
	taken map[string]T,
	put func(id string, value *T),
) (any bool) {
	for id, value := range all {
		if was, known := taken[id]; !known || was != *value {
			taken[id] = *value
			put(id, value)
			any = true
		}
	}
	for id := range taken {
		if all[id] == nil {
			delete(taken, id)
			put(id, nil)
			any = true
		}
	}
	return any
}

// Key identifies a notice. The engine uses each key once.
type Key struct {
	// Agent is the subject of the notice, not its recipient.
	Agent string `json:",omitzero"`
	// Cycle is the cycle of the notice, from 1 on.
	Cycle int  `json:",omitzero"`
	Kind  Kind `json:",omitzero"`
	// Ref distinguishes notices of the same kind and cycle: "operator" for the
	// operator's copy of a notice to a parent, the number of the episode for
	// no-data, else "".
	Ref string `json:",omitzero"`
}

// String formats the key for logs and ids as agent/cycle/kind or
// agent/cycle/kind/ref.
func (k Key) String() string {
	s := k.Agent + "/" + strconv.Itoa(k.Cycle) + "/" + k.Kind.String()
	if k.Ref != "" {
		s += "/" + k.Ref
	}
	return s
}

// Mode is the urgency of a message to an agent.
type Mode uint8

// The modes, the least urgent first.
const (
	// Sequential is delivered at the end of the turn.
	Sequential Mode = iota
	// Important is delivered between two tool calls.
	Important
	// Urgent is delivered at once.
	Urgent
)

// String returns the mode as the API writes it.
func (m Mode) String() string {
	return Word(m, "sequential", "important", "urgent")
}

// Role is the recipient of a notice relative to the agent that it is about.
type Role uint8

// The roles.
const (
	Self Role = iota
	Parent
	Operator
)

// String returns the role as logs write it.
func (r Role) String() string {
	return Word(r, "self", "parent", "operator")
}

// Target is the recipient of a notice. Agent is the agent itself or its parent,
// "" for the operator.
type Target struct {
	Role  Role
	Agent string
}

// Action is a decision of the engine: a [Deliver], [Withdraw], [SetLevel],
// [Opened], [Remind] or [Skip].
type Action any

// Deliver is a notice for delivery.
type Deliver struct {
	Key  Key
	To   Target
	Mode Mode
	Text string
	// Plain replaces Text when it is typed into a pane. It is set if Text is
	// the user's own and not [Plain]. For the operator it is the text without a
	// title.
	Plain string
	// At is the time of the reading or event that caused the notice.
	At time.Time
}

// Withdraw takes back notices that have not been delivered yet.
type Withdraw struct {
	Keys []Key // ordered by kind
}

// SetLevel means that an agent's level, percentage or Known has changed.
type SetLevel struct{ Agent string }

// Opened means that a new cycle has begun. It restarts reminders.
type Opened struct {
	Agent string
	Cycle int // the new one
	Cause Cause
	// Unconfirmed means that only a smaller context shows the new cycle.
	Unconfirmed bool
	// Trigger and PreTokens belong to CauseCompaction; PreTokens is 0 when unknown.
	Trigger   Trigger
	PreTokens int64
	// Warned means that the previous cycle had a warning or a critical notice.
	Warned bool
	At     time.Time
}
