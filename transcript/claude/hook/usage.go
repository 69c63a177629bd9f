package hook

import "fmt"

// ContextUsage is the body of POST /hooks/context-usage, as scripts of old post it:
// a report of the status line, or an event. SessionID is the agent's. What was null,
// absent or odd is nil.
type ContextUsage struct {
	SessionID         string
	UsedPercentage    *float64
	TotalInputTokens  *int64
	TotalOutputTokens *int64
	ContextWindowSize *int64
	// Event is compaction, compaction_complete or context_reset; empty in a report.
	Event   string
	Trigger string
}

// DecodeContextUsage reads the body of a [ContextUsage].
func DecodeContextUsage(data []byte) (u ContextUsage, err error) {
	if err = Members(data, u.set); err != nil {
		return ContextUsage{}, fmt.Errorf("context usage: %w", err)
	}
	return u, nil
}

func (u *ContextUsage) set(key string, raw []byte) {
	switch key {
	case "session_id":
		u.SessionID = Word(raw, maxWord)
	case "used_percentage":
		u.UsedPercentage = known(numberOf(raw))
	case "total_input_tokens":
		u.TotalInputTokens = known(Whole(raw))
	case "total_output_tokens":
		u.TotalOutputTokens = known(Whole(raw))
	case "context_window_size":
		u.ContextWindowSize = known(Whole(raw))
	case "event":
		u.Event = Word(raw, maxWord)
	case "trigger":
		u.Trigger = Word(raw, maxWord)
	}
}
