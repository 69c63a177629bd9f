package codex

import (
	"bytes"
	"html"

	"sm/transcript"
	"sm/transcript/jsonwalk"
	"sm/transcript/wording"
)

// classify sets the kind of the record, once all of its members are known.
func (w *walker) classify(kind jsonwalk.Text, p *payload, line []byte, r *record) {
	switch string(w.Decode(kind)) {
	case "session_meta":
		r.kind = meta
	case "turn_context":
		r.kind = settings
	case "token_usage_record":
		r.kind = spent
	case "compacted":
		r.kind = compacted
	case "event_msg":
		p.event(w, line, r)
	case "response_item":
		p.responded(w, line, r)
	case "dynamic_tools_updated", "inter_agent_communication", "inter_agent_communication_metadata",
		"realtime_item", "security_risk_score", "world_state":
	default:
		w.unknown.Add(transcript.UnknownRecord, w.Decode(kind))
	}
}

func (p *payload) event(w *walker, line []byte, r *record) {
	switch string(w.Decode(p.kind)) {
	case "token_count":
		if r.limits = p.limits; p.informed {
			r.kind = counted
			r.info = p.info
		}
	case "task_started":
		r.kind = started
	case "task_complete":
		r.kind = ended
		r.overflow = string(p.failure) == "context_window_exceeded"
	case "turn_aborted":
		r.kind = ended
	case "user_message":
		r.kind = prompt
		r.text = w.Decode(p.message)
	case "item_completed":
		p.item.done(w, line, r)
	case "thread_rolled_back":
		r.kind = rolled
	case "agent_message", "agent_reasoning", "agent_reasoning_raw_content", "context_compacted",
		"entered_review_mode", "error", "exec_command_end", "exited_review_mode",
		"guardian_assessment", "image_generation_end", "mcp_tool_call_end", "patch_apply_end",
		"thread_goal_updated", "thread_name_updated", "thread_settings_applied",
		"view_image_tool_call", "web_search_end":
	default:
		w.unknown.Add(transcript.UnknownSubtype, w.Decode(p.kind))
	}
}

// done reads a completed item: the user's words, a command, or a change of
// files.
func (i *item) done(w *walker, line []byte, r *record) {
	switch string(w.Decode(i.kind)) {
	case "UserMessage":
		r.kind = prompt
		r.text = jsonwalk.Lines(jsonwalk.Texts(i.content.Bytes(line), ""))
	case "CommandExecution":
		r.kind = ran
		r.call = i.id
		r.input = i.command.Bytes(line)
		r.output = i.output
	case "FileChange":
		r.kind = patched
		r.call = i.id
		r.input = i.changes.Bytes(line)
		r.output = 0
	case "AgentMessage", "CollabAgentToolCall", "ContextCompaction", "DynamicToolCall",
		"EnteredReviewMode", "ExitedReviewMode", "HookPrompt", "ImageGeneration", "ImageView",
		"McpToolCall", "Plan", "Reasoning", "SubAgentActivity", "WebSearch":
	default:
		w.unknown.Add(transcript.UnknownSubtype, w.Decode(i.kind))
	}
}

// responded reads an item of the conversation.
func (p *payload) responded(w *walker, line []byte, r *record) {
	switch string(w.Decode(p.kind)) {
	case "message":
		p.hookText(w, line, r)
	case "function_call":
		r.kind = called
		r.input = w.Raw(p.arguments)
	case "custom_tool_call":
		r.kind = called
		r.input = w.Raw(p.input)
	case "local_shell_call":
		r.kind = called
		r.tool = []byte("local_shell")
		r.input = p.action.Bytes(line)
	case "function_call_output", "custom_tool_call_output":
		r.kind = answered
	case "additional_tools", "agent_message", "compaction", "compaction_summary",
		"context_compaction", "ghost_snapshot", "image_generation_call", "reasoning",
		"tool_search_call", "tool_search_output", "web_search_call":
	default:
		w.unknown.Add(transcript.UnknownSubtype, w.Decode(p.kind))
	}
}

// hookText reads a hook's text for the model: a message of the developer or, if
// the hook prevented the end of a turn, of the user.
func (p *payload) hookText(w *walker, line []byte, r *record) {
	role := string(w.Decode(p.role))
	if role != "developer" && role != "user" {
		return
	}
	parts := jsonwalk.Texts(p.content.Bytes(line), "")
	own := parts[:0]
	for _, part := range parts {
		ok := true
		if role == "user" {
			part, ok = hookPrompt(part)
		}
		if ok && wording.IsOurs(part) {
			own = append(own, part)
		}
	}
	if len(own) > 0 {
		r.kind = hookText
		r.text = jsonwalk.Lines(own)
	}
}

// hookPrompt returns the text of a hook that prevented the end of a turn. The
// client wraps it in an XML element.
func hookPrompt(s []byte) (inner []byte, ok bool) {
	rest, ok := bytes.CutPrefix(s, []byte("<hook_prompt"))
	_, rest, whole := bytes.Cut(rest, []byte(">"))
	if !ok || !whole {
		return nil, false
	}
	rest = bytes.TrimSuffix(rest, []byte("</hook_prompt>"))
	return []byte(html.UnescapeString(string(rest))), true
}
