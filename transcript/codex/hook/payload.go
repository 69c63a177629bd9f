package hook

import (
	"encoding/json"

	"sm/transcript/claude/hook"
	"sm/transcript/codex/files"
)

const (
	maxWord = 128
	maxPath = 4096
)

// Speaks reports whether a payload is from Codex: it has a turn_id, or a transcript
// with the name that Codex gives. It is for hooks that do not name their client.
func Speaks(data []byte) (yes bool) {
	err := hook.Members(data, func(key string, raw []byte) {
		switch key {
		case "turn_id":
			yes = yes || hook.Word(raw, maxWord) != ""
		case "transcript_path":
			_, named := files.Thread(hook.Word(raw, maxPath))
			yes = yes || named
		}
	})
	return yes && err == nil
}

// own are the members that Claude Code's payloads do not have.
type own struct {
	turn, transcript string // transcript is the subagent's, where it has ended
	tokens           int64
	status           string
}

// Decode reads a payload. SessionID is the thread's own id, a subagent's too, and AgentType is
// set in a subagent's: see [IsSubagent].
func Decode(data []byte) (p hook.Payload, err error) {
	if p, err = hook.Decode(data); err != nil {
		return p, err
	}
	var o own
	_ = hook.Members(data, o.set) // it has been read above
	p.SM = hook.Origin{Client: files.Client}
	p.ContextTokens = 0
	p.PromptID = o.turn
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
		p.TranscriptPath = o.transcript
	}
	if p.Event == hook.PostModelRequest && o.status == "completed" {
		p.ContextTokens = o.tokens
	}
	return p, nil
}

func (o *own) set(key string, raw []byte) {
	switch key {
	case "turn_id":
		o.turn = hook.Word(raw, maxWord)
	case "agent_transcript_path":
		o.transcript = hook.Word(raw, maxPath)
	case "status":
		o.status = hook.Word(raw, maxWord)
	case "token_usage":
		o.tokens = 0
		var usage struct {
			Total json.RawMessage `json:"total_tokens"`
		}
		if json.Unmarshal(raw, &usage) == nil {
			o.tokens, _ = hook.Whole(usage.Total)
		}
	}
}

// IsSubagent reports whether a decoded payload is of a subagent's thread. Its
// process and environment are not those of the thread.
func IsSubagent(p *hook.Payload) bool { return p.AgentType != "" }
