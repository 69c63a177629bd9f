package hook

import (
	"encoding/json"
	"slices"
	"time"
)

// Event is the client's name of a hook's event. Clients have many other events,
// and new versions add more.
type Event string

// The events that have a meaning for sm.
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
	// Events of Codex. Claude Code does not have them, or they have no meaning
	// there.
	PostModelRequest  Event = "PostModelRequest"
	PermissionRequest Event = "PermissionRequest"
	Interrupt         Event = "Interrupt"
	SubagentStart     Event = "SubagentStart"
	// StatusLine is ours: a report of the status line on its way to the observer.
	StatusLine Event = "StatusLine"
)

// Events returns the events above, which can be labels of a metric.
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
	// MaxBody limits the result of Encode; the observer accepts 64 KiB.
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
	// AgentID is set in the hooks of subagents, and of the client's own
	// helpers, such as its summariser: any value but "" and null means one.
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
	// Prompt has room for a message of 4 KiB and the text around it.
	Prompt   string `json:"prompt,omitempty" cut:"8192"`
	ToolName string `json:"tool_name,omitempty"`
	// ToolInput is a JSON object or nil. Large members of a large object are
	// left out.
	ToolInput        json.RawMessage `json:"tool_input,omitempty"`
	StopHookActive   bool            `json:"stop_hook_active,omitempty"`
	NotificationType string          `json:"notification_type,omitempty"`
	Message          string          `json:"message,omitempty" cut:"1024"` // of a Notification
	Error            string          `json:"error,omitempty" cut:"1024"`
	// ContextTokens is the context size of a PostModelRequest, 0 while unknown.
	// A SessionStart with the source resume or fork has only the size of the
	// conversation.
	ContextTokens int64 `json:"context_tokens,omitempty"`
	// CacheWriteUSD is the client's estimate for writing the context of such a
	// SessionStart into the cache with the first request, in US dollars.
	CacheWriteUSD float64 `json:"estimated_cache_write_usd,omitempty"`
	SM            Origin  `json:"sm,omitzero"`
}

// Subagent reports whether the event is from a subagent: it changes nothing for
// the main agent, and an answer would not reach the main agent.
func (p *Payload) Subagent() bool { return p.AgentID != "" }

// Origin is the environment of sm hook and sm statusline.
type Origin struct {
	// Client is the client whose hook it is; "" is Claude Code.
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
	// PID is the client's process, 0 if unknown. Start is its start time in the
	// format of /proc and the client's registry; it distinguishes reused pids.
	PID   int    `json:"pid,omitempty"`
	Start string `json:"start,omitempty"`
	// Project is the folder in which the client was started; unlike cwd it does
	// not change.
	Project string `json:"project,omitempty" max:"4096"`
	// AutoCompact has the client's settings for automatic compaction.
	AutoCompact AutoCompact `json:"auto_compact,omitzero"`
	// At is the time at which the hook began to run.
	At time.Time `json:"at,omitzero"`
}

func (o *Origin) set(raw []byte) {
	type plain Origin
	_ = Unmarshal(raw, (*plain)(o)) // zero for another type
	if !IsPane(o.Pane) {
		o.Pane = ""
	}
}

// Decode decodes a payload.
func Decode(data []byte) (p Payload, err error) {
	err = Unmarshal(data, &p)
	return p, err
}

// Encode encodes the payload in the form that the observer accepts. It shortens
// a payload that does not fit, the longest texts first.
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
