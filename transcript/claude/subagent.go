package claude

import (
	"encoding/json"
	"strings"
)

// SubagentMeta returns the path of the file that describes the subagent with
// the given transcript.
func SubagentMeta(transcript string) string {
	return strings.TrimSuffix(transcript, ".jsonl") + ".meta.json"
}

// SubagentType returns the type of a subagent, such as general-purpose, given
// the contents of its SubagentMeta file. It returns "" if they name none.
func SubagentType(meta []byte) string {
	var m struct {
		Type string `json:"agentType"`
	}
	_ = json.Unmarshal(meta, &m) // leaves m empty if invalid
	return m.Type
}
