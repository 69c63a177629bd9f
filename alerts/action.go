package alerts

import "time"

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
