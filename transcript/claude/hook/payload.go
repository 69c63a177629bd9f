package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Event is what the client calls a hook's event. There are many more than those
// below, and new ones come.
type Event string

// The events that mean something to us.
const (
	SessionStart     Event = "SessionStart"
	SessionEnd       Event = "SessionEnd"
	UserPromptSubmit Event = "UserPromptSubmit"
	PreToolUse       Event = "PreToolUse"
	PostToolUse      Event = "PostToolUse"
	Stop             Event = "Stop"
	StopFailure      Event = "StopFailure"
	SubagentStop     Event = "SubagentStop"
	PreCompact       Event = "PreCompact"
	PostCompact      Event = "PostCompact"
	Notification     Event = "Notification"
	// Claude Code has no such events, or none that mean anything: Codex has.
	PostModelRequest  Event = "PostModelRequest"
	PermissionRequest Event = "PermissionRequest"
	Interrupt         Event = "Interrupt"
	SubagentStart     Event = "SubagentStart"
	// StatusLine is ours: a report of the status line on its way to the observer.
	StatusLine Event = "StatusLine"
)

// Events lists those above: what is fit for a label of a metric.
func Events() []Event {
	return []Event{
		SessionStart, SessionEnd, UserPromptSubmit, PreToolUse, PostToolUse, Stop, StopFailure, SubagentStop,
		PreCompact, PostCompact, Notification, PostModelRequest, PermissionRequest, Interrupt, SubagentStart, StatusLine,
	}
}

// Known reports whether an event is one of Events.
func (e Event) Known() bool { return slices.Contains(Events(), e) }

// The bounds, in bytes.
const (
	// MaxBody is what Encode's result fits into; the observer takes 64 KiB.
	MaxBody = 60 << 10

	maxWord   = 128
	maxPath   = 4096
	maxPrompt = 8 << 10 // holds a message of 4 KiB with what stands around it
	maxText   = 1 << 10
	maxInput  = 16 << 10
)

// Payload is the input of a hook.
type Payload struct {
	SessionID      string `json:"session_id,omitempty"`
	TranscriptPath string `json:"transcript_path,omitempty"`
	CWD            string `json:"cwd,omitempty"`
	Event          Event  `json:"hook_event_name,omitempty"`
	PromptID       string `json:"prompt_id,omitempty"`
	PermissionMode string `json:"permission_mode,omitempty"`
	// AgentID is set in the hooks of subagents, and of the client's own helpers, such
	// as its summariser.
	AgentID   string `json:"agent_id,omitempty"`
	AgentType string `json:"agent_type,omitempty"`
	// Source of a SessionStart: startup, resume, clear, compact, fork.
	Source string `json:"source,omitempty"`
	Model  string `json:"model,omitempty"`
	// Reason of a SessionEnd: clear, resume, logout, prompt_input_exit, other.
	Reason string `json:"reason,omitempty"`
	// Trigger of a compaction: manual, auto.
	Trigger            string `json:"trigger,omitempty"`
	CustomInstructions string `json:"custom_instructions,omitempty"`
	CompactSummary     string `json:"compact_summary,omitempty"`
	Prompt             string `json:"prompt,omitempty"`
	ToolName           string `json:"tool_name,omitempty"`
	// ToolInput is a JSON object or nil. Of a large one the large members are gone.
	ToolInput            json.RawMessage `json:"tool_input,omitempty"`
	ToolUseID            string          `json:"tool_use_id,omitempty"`
	StopHookActive       bool            `json:"stop_hook_active,omitempty"`
	LastAssistantMessage string          `json:"last_assistant_message,omitempty"`
	NotificationType     string          `json:"notification_type,omitempty"`
	Message              string          `json:"message,omitempty"` // of a Notification
	Error                string          `json:"error,omitempty"`
	// ContextTokens is the size of the context, 0 while unknown: of a PostModelRequest,
	// and of a SessionStart with the source resume or fork.
	ContextTokens int64 `json:"context_tokens,omitempty"`
	// CacheWriteUSD is what the client expects the first request of such a
	// SessionStart to cost for writing the context into the cache, in US dollars.
	CacheWriteUSD float64 `json:"estimated_cache_write_usd,omitempty"`
	SM            Origin  `json:"sm,omitzero"`
}

// Subagent reports whether the event is of a subagent: it changes nothing for the
// main agent, and an answer would not reach it.
func (p *Payload) Subagent() bool { return p.AgentID != "" }

// Origin is the environment of sm hook and sm statusline.
type Origin struct {
	// Client is whose hook it is; "" is Claude Code.
	Client string `json:"client,omitempty"`
	// Agent is the agent's id: CLAUDE_SESSION_MANAGER_ID, else TmuxAgent, else empty.
	Agent    string `json:"agent,omitempty"`
	Parent   string `json:"parent,omitempty"`
	Name     string `json:"name,omitempty"`
	Provider string `json:"provider,omitempty"`
	// Tmux is the path of the server's socket, Server the server's pid, Pane a %id.
	Tmux   string `json:"tmux,omitempty"`
	Server int    `json:"server,omitempty"`
	Pane   string `json:"pane,omitempty"`
	// PID is the client's process, 0 if unknown. Start is its start time in the format
	// of /proc and the client's registry; it distinguishes reused pids.
	PID   int    `json:"pid,omitempty"`
	Start string `json:"start,omitempty"`
	// Project is the folder in which the client was started; unlike cwd it stays.
	Project string `json:"project,omitempty"`
	// AutoCompact has the client's settings for automatic compaction.
	AutoCompact AutoCompact `json:"auto_compact,omitzero"`
	// At is when the client spoke: when the hook began to run.
	At time.Time `json:"at,omitzero"`
}

// Decode reads a payload.
func Decode(data []byte) (p Payload, err error) {
	if err = Members(data, p.set); err != nil {
		return Payload{}, fmt.Errorf("hook payload: %w", err)
	}
	return p, nil
}

func (p *Payload) set(key string, raw []byte) {
	switch key {
	case "session_id":
		p.SessionID = Word(raw, maxWord)
	case "transcript_path":
		p.TranscriptPath = Word(raw, maxPath)
	case "cwd":
		p.CWD = Word(raw, maxPath)
	case "hook_event_name":
		p.Event = Event(Word(raw, maxWord))
	case "prompt_id":
		p.PromptID = Word(raw, maxWord)
	case "permission_mode":
		p.PermissionMode = Word(raw, maxWord)
	case "agent_id":
		p.AgentID = agentID(raw)
	case "agent_type":
		p.AgentType = Word(raw, maxWord)
	case "source":
		p.Source = Word(raw, maxWord)
	case "model":
		p.Model = modelOf(raw)
	case "reason":
		p.Reason = Word(raw, maxWord)
	case "trigger":
		p.Trigger = Word(raw, maxWord)
	case "sm":
		_ = decode(&p.SM, raw, p.SM.set)
	default:
		p.setMore(key, raw)
	}
}

// setMore is the half of set that belongs to single events.
func (p *Payload) setMore(key string, raw []byte) {
	switch key {
	case "custom_instructions":
		p.CustomInstructions = text(raw, maxText)
	case "compact_summary":
		p.CompactSummary = text(raw, maxText)
	case "prompt":
		p.Prompt = text(raw, maxPrompt)
	case "tool_name":
		p.ToolName = Word(raw, maxWord)
	case "tool_input":
		p.ToolInput = slim(raw, maxInput)
	case "tool_use_id":
		p.ToolUseID = Word(raw, maxWord)
	case "stop_hook_active":
		p.StopHookActive, _ = boolean(raw)
	case "last_assistant_message":
		p.LastAssistantMessage = text(raw, maxText)
	case "notification_type":
		p.NotificationType = Word(raw, maxWord)
	case "message":
		p.Message = text(raw, maxText)
	case "error":
		p.Error = text(raw, maxText)
	case "context_tokens":
		p.ContextTokens, _ = Whole(raw)
	case "estimated_cache_write_usd":
		p.CacheWriteUSD, _ = moneyOf(raw)
	}
}

// agentID reads the id of a subagent. Any value but "" and null means that the
// event is of a subagent, even an odd one.
func agentID(raw []byte) string {
	if s := Word(raw, maxWord); s != "" || string(raw) == "null" || string(raw) == `""` {
		return s
	}
	return "?"
}

// modelOf reads a model's id: hooks write it as a text, the status line as an object.
func modelOf(raw []byte) (id string) {
	id = Word(raw, maxWord)
	_ = Members(raw, func(key string, raw []byte) { // a text has no members
		if key == "id" {
			id = Word(raw, maxWord)
		}
	})
	return id
}

func (o *Origin) set(key string, raw []byte) {
	switch key {
	case "client":
		o.Client = Word(raw, maxWord)
	case "agent":
		o.Agent = Word(raw, maxWord)
	case "parent":
		o.Parent = Word(raw, maxWord)
	case "name":
		o.Name = Word(raw, maxWord)
	case "provider":
		o.Provider = Word(raw, maxWord)
	case "tmux":
		o.Tmux = Word(raw, maxPath)
	case "server":
		o.Server = pid(raw)
	case "pane":
		o.Pane = pane(raw)
	case "pid":
		o.PID = pid(raw)
	case "start":
		o.Start = Word(raw, maxWord)
	case "project":
		o.Project = Word(raw, maxPath)
	case "auto_compact":
		_ = decode(&o.AutoCompact, raw, o.AutoCompact.set)
	case "at":
		o.At = instant(raw)
	}
}

func pid(raw []byte) int {
	n, ok := Whole(raw)
	if !ok || n < 2 || n > 1<<31-1 { // 1 is init, which must never be signalled
		return 0
	}
	return int(n)
}

func pane(raw []byte) string {
	if s := Word(raw, maxWord); IsPane(s) {
		return s
	}
	return ""
}

// slim gives an object no longer than limit: of a larger one the members that are
// small, as many as fit. What is not an object is none.
func slim(raw []byte, limit int) json.RawMessage {
	var compact bytes.Buffer
	if len(raw) == 0 || raw[0] != '{' || json.Compact(&compact, raw) != nil {
		return nil
	}
	if raw = compact.Bytes(); len(raw) <= limit {
		return raw
	}
	b := append(make([]byte, 0, limit), '{')
	_ = Members(raw, func(key string, value []byte) { // it is valid
		name, err := json.Marshal(key)
		if err != nil || len(value) > limit/4 || len(b)+len(name)+len(value)+len(",:}") > limit {
			return
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), value...)
	})
	return append(b, '}')
}

// Encode writes the payload as the observer takes it. What does not fit even so is
// made shorter, its longest texts first.
func (p Payload) Encode() []byte {
	for limit := maxText; ; limit /= 2 {
		b := Marshal(p)
		if len(b) <= MaxBody {
			return b
		}
		p.ToolInput = slim(p.ToolInput, 4*limit)
		for _, s := range []*string{
			&p.Prompt,
			&p.LastAssistantMessage,
			&p.CompactSummary,
			&p.CustomInstructions,
			&p.Error,
			&p.Message,
		} {
			*s = cut(*s, limit)
		}
		for _, s := range []*string{&p.TranscriptPath, &p.CWD, &p.SM.Tmux, &p.SM.Project} {
			if len(*s) > 4*limit { // half a path is another path
				*s = ""
			}
		}
	}
}
