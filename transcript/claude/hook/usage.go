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
	err = members(data, func(key string, raw []byte) {
		switch key {
		case "session_id":
			u.SessionID = word(raw, maxWord)
		case "used_percentage":
			u.UsedPercentage = number(raw)
		case "total_input_tokens":
			u.TotalInputTokens = whole(raw)
		case "total_output_tokens":
			u.TotalOutputTokens = whole(raw)
		case "context_window_size":
			u.ContextWindowSize = whole(raw)
		case "event":
			u.Event = word(raw, maxWord)
		case "trigger":
			u.Trigger = word(raw, maxWord)
		}
	})
	if err != nil {
		return ContextUsage{}, fmt.Errorf("context usage: %w", err)
	}
	return u, nil
}
