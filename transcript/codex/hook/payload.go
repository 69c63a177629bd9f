package hook

import (
	"sm/transcript/claude/hook"
	"sm/transcript/codex/files"
)

// own has the members that Claude Code's payloads do not have, or that have
// another meaning there.
type own struct {
	Turn       string `json:"turn_id"`
	Transcript string `json:"transcript_path" max:"4096"`
	// Ended is the transcript of a subagent that has ended.
	Ended  string `json:"agent_transcript_path" max:"4096"`
	Status string `json:"status"`
	Usage  struct {
		Total int64 `json:"total_tokens"`
	} `json:"token_usage"`
}

// IsPayload reports whether a payload is from Codex: it has a turn_id, or a
// transcript with a name in Codex's form. It is for hooks that do not name
// their client.
func IsPayload(data []byte) bool {
	var o own
	err := hook.Unmarshal(data, &o)
	_, named := files.Thread(o.Transcript)
	return err == nil && (o.Turn != "" || named)
}

// Decode decodes a payload. SessionID is the thread's own id, even in a
// subagent. AgentType is set only for a subagent: see [IsSubagent].
func Decode(data []byte) (p hook.Payload, err error) {
	if p, err = hook.Decode(data); err != nil {
		return p, err
	}
	var o own
	_ = hook.Unmarshal(data, &o) // valid, as hook.Decode has shown
	p.SM = hook.Origin{Client: files.Client}
	p.ContextTokens = 0
	if p.AgentID != "" {
		p.SessionID = p.AgentID
		p.AgentID = ""
		if p.AgentType == "" {
			p.AgentType = "?"
		}
	} else {
		p.AgentType = ""
	}
	if p.Event == hook.SubagentStop {
		p.TranscriptPath = o.Ended
	}
	if p.Event == hook.PostModelRequest && o.Status == "completed" {
		p.ContextTokens = o.Usage.Total
	}
	return p, nil
}

// IsSubagent reports whether a decoded payload is of a subagent's thread. Its
// process and environment are not those of the thread.
func IsSubagent(p *hook.Payload) bool { return p.AgentType != "" }
