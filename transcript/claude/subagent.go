package claude

import (
	"bytes"
	"encoding/json"
)

// SubagentType finds, in the first lines of a subagent's transcript, what the client calls its kind, such as
// general-purpose; "" where it does not say. Clients since about 2.1 write it into each reply.
func SubagentType(head []byte) string {
	for line := range bytes.Lines(head) {
		var r struct {
			Kind string `json:"attributionAgent"`
		}
		if bytes.Contains(line, []byte(`"attributionAgent"`)) && json.Unmarshal(line, &r) == nil && r.Kind != "" {
			return r.Kind
		}
	}
	return ""
}
