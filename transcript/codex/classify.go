package codex

import (
	"bytes"

	"sm/transcript/jsonwalk"
	"sm/transcript/wording"
)

// classify says what the record means, once all of its members are known.
func (f *fields) classify(line []byte, r *record) {
	p := &f.payload
	r.at = f.timestamp.Instant(line)
	if f.numbered {
		r.ordinal = f.ordinal
	}
	switch string(f.kind.Bytes(line)) {
	case "session_meta":
		r.kind, r.start = meta, p.start
		r.id, r.root, r.parent = p.id.Bytes(line), p.root.Bytes(line), p.parent.Bytes(line)
		r.origin, r.base = p.origin.Bytes(line), p.base.Bytes(line)
		r.version, r.branch, r.cwd = p.version.Bytes(line), p.branch.Bytes(line), p.cwd.Bytes(line)
	case "turn_context":
		r.kind, r.model, r.cwd = settings, p.model.Bytes(line), p.cwd.Bytes(line)
	case "token_usage_record":
		r.kind, r.last = spent, p.usage
		r.thread, r.turn, r.response = p.thread.Bytes(line), p.turn.Bytes(line), p.response.Bytes(line)
	case "compacted":
		r.kind, r.windowID, r.response = compacted, p.windowID.Bytes(line), p.compaction.Bytes(line)
	case "event_msg":
		p.event(line, r)
	case "response_item":
		p.responded(line, r)
	}
}

func (p *payload) event(line []byte, r *record) {
	switch string(p.kind.Bytes(line)) {
	case "token_count":
		if r.limits = p.limits; p.informed {
			r.kind, r.last, r.sum, r.window = counted, p.info.last, p.info.sum, p.info.window
		}
	case "task_started":
		r.kind, r.turn, r.attributed, r.window = started, p.turn.Bytes(line), p.attributed, p.window
	case "task_complete":
		r.kind, r.turn = ended, p.turn.Bytes(line)
		r.overflow = string(p.failure.Bytes(line)) == "context_window_exceeded"
	case "turn_aborted":
		r.kind, r.turn = ended, p.turn.Bytes(line)
	case "user_message":
		r.kind, r.text = prompt, p.message.Bytes(line)
	case "item_completed":
		p.item.done(line, r, p.turn)
	case "thread_rolled_back":
		r.kind = rolled
	}
}

// done reads what has been done: the user's words, a command, or a change of files.
func (i *item) done(line []byte, r *record, turn jsonwalk.Text) {
	switch string(i.kind.Bytes(line)) {
	case "UserMessage":
		r.kind, r.turn, r.text = prompt, turn.Bytes(line), joined(texts(i.content.Bytes(line)))
	case "CommandExecution":
		r.kind, r.call, r.input, r.output = ran, i.id.Bytes(line), i.command.Bytes(line), i.output
	case "FileChange":
		r.kind, r.call, r.input = patched, i.id.Bytes(line), i.changes.Bytes(line)
	}
}

// responded reads an item of the conversation.
func (p *payload) responded(line []byte, r *record) {
	switch string(p.kind.Bytes(line)) {
	case "message":
		p.hookText(line, r)
	case "function_call":
		r.kind, r.call, r.tool, r.input = called, p.call.Bytes(line), p.name.Bytes(line), p.arguments.Raw(line)
	case "custom_tool_call":
		r.kind, r.call, r.tool, r.input = called, p.call.Bytes(line), p.name.Bytes(line), p.input.Raw(line)
	case "local_shell_call":
		r.kind, r.call, r.tool, r.input = called, p.call.Bytes(line), []byte("local_shell"), p.action.Bytes(line)
	case "function_call_output", "custom_tool_call_output":
		r.kind, r.call, r.output = answered, p.call.Bytes(line), p.output
	}
}

// hookText reads what a hook has told the model: as a message of the developer, or, where the
// hook kept a turn from ending, as one of the user.
func (p *payload) hookText(line []byte, r *record) {
	role := string(p.role.Bytes(line))
	if role != "developer" && role != "user" {
		return
	}
	parts := texts(p.content.Bytes(line))
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
		r.kind, r.text = heard, joined(own)
	}
}

// hookPrompt takes off what the client puts around the words of a hook that kept a turn
// from ending.
func hookPrompt(s []byte) (inner []byte, ok bool) {
	rest, ok := bytes.CutPrefix(s, []byte("<hook_prompt"))
	_, rest, whole := bytes.Cut(rest, []byte(">"))
	return bytes.TrimSuffix(rest, []byte("</hook_prompt>")), ok && whole
}

// joined puts texts below each other; of a single one it is that text.
func joined(parts [][]byte) []byte {
	if len(parts) == 1 {
		return parts[0]
	}
	return bytes.Join(parts, []byte("\n"))
}

// texts are the texts of a content array.
func texts(content []byte) (all [][]byte) {
	if len(content) == 0 {
		return nil
	}
	var w jsonwalk.Walker
	w.Begin(content)
	for in := w.Enter(jsonwalk.Text{}, '['); in && w.Next(']'); {
		if t := w.Only(jsonwalk.Text{}, "text"); !t.None() {
			all = append(all, w.Decode(t))
		}
	}
	return all
}
