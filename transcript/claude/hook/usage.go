package hook

// ContextUsage is the body of POST /hooks/context-usage, as existing scripts
// post it: a report of the status line, or an event. SessionID is the agent's.
// Values that were null, absent or invalid are nil or 0.
type ContextUsage struct {
	SessionID         string   `json:"session_id"`
	UsedPercentage    *float64 `json:"used_percentage"`
	TotalInputTokens  int64    `json:"total_input_tokens"`
	ContextWindowSize int64    `json:"context_window_size"`
	// Event is compaction, compaction_complete or context_reset; empty in a report.
	Event   string `json:"event"`
	Trigger string `json:"trigger"`
}
