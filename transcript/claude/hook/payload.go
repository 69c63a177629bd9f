package hook

import (
	"encoding/json"
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

func (e *Event) set(raw []byte) { *e = Event(textOf(raw, "")) }

// Known reports whether an event is one of Events.
func (e Event) Known() bool { return slices.Contains(Events(), e) }

// The bounds, in bytes.
const (
	// MaxBody is what Encode's result fits into; the observer takes 64 KiB.
	MaxBody = 60 << 10

	maxWord  = 128
	maxPath  = 4096
	maxInput = 16 << 10
)

// Payload is the input of a hook, as far as sm reads it.
type Payload struct {
	SessionID      string `json:"session_id,omitempty"`
	TranscriptPath string `json:"transcript_path,omitempty" max:"4096"`
	CWD            string `json:"cwd,omitempty" max:"4096"`
	Event          Event  `json:"hook_event_name,omitempty"`
	// AgentID is set in the hooks of subagents, and of the client's own helpers, such
	// as its summariser: any value but "" and null means one.
	AgentID   string `json:"agent_id,omitempty" odd:"?"`
	AgentType string `json:"agent_type,omitempty"`
	// Source of a SessionStart: startup, resume, clear, compact, fork.
	Source string `json:"source,omitempty"`
	// Model is the model's id: hooks write it as a text, the status line as an object.
	Model string `json:"model,omitempty" member:"id"`
	// Reason of a SessionEnd: clear, resume, logout, prompt_input_exit, other.
	Reason string `json:"reason,omitempty"`
	// Trigger of a compaction: manual, auto.
	Trigger string `json:"trigger,omitempty"`
	// Prompt has room for a message of 4 KiB with what surrounds it.
	Prompt   string `json:"prompt,omitempty" cut:"8192"`
	ToolName string `json:"tool_name,omitempty"`
	// ToolInput is a JSON object or nil. Of a large one the large members are gone.
	ToolInput        json.RawMessage `json:"tool_input,omitempty"`
	StopHookActive   bool            `json:"stop_hook_active,omitempty"`
	NotificationType string          `json:"notification_type,omitempty"`
	Message          string          `json:"message,omitempty" cut:"1024"` // of a Notification
	Error            string          `json:"error,omitempty" cut:"1024"`
	// ContextTokens is the size of the context, 0 while unknown, of a PostModelRequest. A
	// SessionStart with the source resume or fork has the conversation's alone.
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
	Tmux   string `json:"tmux,omitempty" max:"4096"`
	Server int    `json:"server,omitempty"`
	Pane   string `json:"pane,omitempty"`
	// PID is the client's process, 0 if unknown. Start is its start time in the format
	// of /proc and the client's registry; it distinguishes reused pids.
	PID   int    `json:"pid,omitempty"`
	Start string `json:"start,omitempty"`
	// Project is the folder in which the client was started; unlike cwd it stays.
	Project string `json:"project,omitempty" max:"4096"`
	// AutoCompact has the client's settings for automatic compaction.
	AutoCompact AutoCompact `json:"auto_compact,omitzero"`
	// At is when the hook began to run.
	At time.Time `json:"at,omitzero"`
}

func (o *Origin) set(raw []byte) {
	type plain Origin
	_ = Unmarshal(raw, (*plain)(o)) // zero for another type
	if !IsPane(o.Pane) {
		o.Pane = ""
	}
}

// Decode reads a payload.
func Decode(data []byte) (p Payload, err error) {
	err = Unmarshal(data, &p)
	return p, err
}

// Encode writes the payload as the observer takes it. What does not fit even so is
// made shorter, its longest texts first.
func (p Payload) Encode() []byte {
	for limit := 1 << 10; ; limit /= 2 {
		b := Marshal(p)
		if len(b) <= MaxBody {
			return b
		}
		p.ToolInput = slim(p.ToolInput, 4*limit)
		for _, s := range []*string{&p.Prompt, &p.Error, &p.Message} {
			*s = cut(*s, limit)
		}
		for _, s := range []*string{&p.TranscriptPath, &p.CWD, &p.SM.Tmux, &p.SM.Project} {
			if len(*s) > 4*limit { // half a path is another path
				*s = ""
			}
		}
	}
}
