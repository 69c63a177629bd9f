package codex

import (
	"bytes"
	"encoding/json"
	"html"
	"math"
	"strings"
	"time"

	"sm/transcript"
	"sm/transcript/jsonwalk"
	"sm/transcript/wording"
)

// oracle returns the expected result of scan with encoding/json. It decodes the whole line
// into maps, which match names exactly, and where the last repeated member counts.
func oracle(line []byte) (record, error) {
	r := record{ordinal: -1}
	if len(bytes.Trim(line, " \t\r\n")) == 0 {
		return r, jsonwalk.ErrBlank
	}
	o := objectOf(line)
	if o == nil {
		return r, jsonwalk.ErrNotJSON
	}
	p := objectOf(o["payload"])
	if at, err := time.Parse(time.RFC3339Nano, o.text("timestamp")); err == nil {
		r.at = transcript.InstantOf(at)
	}
	if n := o["ordinal"]; len(n) > 0 && n[0] >= '0' && n[0] <= '9' {
		r.ordinal = figureOf(n)
	}
	r.start, r.window = figureOf(p["subagent_history_start_ordinal"]), figureOf(p["model_context_window"])
	r.id, r.parent = p.bytes("id"), p.bytes("parent_thread_id")
	r.origin = p.bytes("forked_from_id")
	r.base, r.branch = objectOf(p["history_base"]).bytes("thread_id"), objectOf(p["git"]).bytes("branch")
	r.version, r.model, r.cwd = p.bytes("cli_version"), p.bytes("model"), p.bytes("cwd")
	r.last, r.attributed = usageOf(p["usage"]), objectOf(p["turn_attribution"]) != nil
	r.thread, r.turn, r.response = p.bytes("thread_id"), p.bytes("turn_id"), p.bytes("response_id")
	r.windowID, r.compaction = p.bytes("window_id"), p.bytes("compaction_response_id")
	r.call, r.tool, r.output = p.bytes("call_id"), p.bytes("name"), p.size("output")
	switch o.text("type") {
	case "session_meta":
		r.kind = meta
	case "turn_context":
		r.kind = settings
	case "token_usage_record":
		r.kind = spent
	case "compacted":
		r.kind = compacted
	case "event_msg":
		p.event(&r)
	case "response_item":
		switch p.text("type") {
		case "message":
			p.message(&r)
		case "function_call":
			r.kind, r.input = called, p.inside("arguments")
		case "custom_tool_call":
			r.kind, r.input = called, p.inside("input")
		case "local_shell_call":
			r.kind, r.tool, r.input = called, []byte("local_shell"), p.value("action")
		case "function_call_output", "custom_tool_call_output":
			r.kind = answered
		}
	}
	return r, nil
}

func (p object) event(r *record) {
	switch p.text("type") {
	case "token_count":
		for _, name := range []string{
			"primary",
			"secondary",
		} { // in either order, as no two have the same window
			l := objectOf(objectOf(p["rate_limits"])[name])
			switch figureOf(l["window_minutes"]) {
			case 300:
				r.limits[0] = limit{realOf(l["used_percent"]), realOf(l["resets_at"])}
			case 10_080:
				r.limits[1] = limit{realOf(l["used_percent"]), realOf(l["resets_at"])}
			}
		}
		if i := objectOf(p["info"]); i != nil {
			r.kind, r.last, r.sum, r.window = counted, usageOf(i["last_token_usage"]), usageOf(i["total_token_usage"]), figureOf(i["model_context_window"])
		}
	case "task_started":
		r.kind = started
	case "task_complete":
		r.kind = ended
		r.overflow = objectOf(p["error"]).text("codex_error_info") == "context_window_exceeded"
	case "turn_aborted":
		r.kind = ended
	case "user_message":
		r.kind, r.text = prompt, p.bytes("message")
	case "item_completed":
		switch i := objectOf(p["item"]); i.text("type") {
		case "UserMessage":
			r.kind, r.text = prompt, []byte(strings.Join(
				textsOf(i["content"]),
				"\n",
			))
		case "CommandExecution":
			r.kind, r.call, r.input, r.output = ran, i.bytes("id"), i.value("command"), i.size("aggregated_output")
		case "FileChange":
			r.kind, r.call, r.input, r.output = patched, i.bytes("id"), i.value("changes"), 0
		}
	case "thread_rolled_back":
		r.kind = rolled
	}
}

func (p object) message(r *record) {
	var own []string
	for _, part := range textsOf(p["content"]) {
		switch p.text("role") {
		case "user":
			if !strings.HasPrefix(part, "<hook_prompt") || !strings.Contains(part, ">") {
				continue
			}
			part = strings.TrimSuffix(part[strings.IndexByte(part, '>')+1:], "</hook_prompt>")
			part = html.UnescapeString(part)
		case "developer":
		default:
			continue
		}
		if wording.IsOurs([]byte(part)) {
			own = append(own, part)
		}
	}
	if len(own) > 0 {
		r.kind, r.text = hookText, []byte(strings.Join(own, "\n"))
	}
}

func textsOf(raw json.RawMessage) (all []string) {
	var list []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	for _, raw := range list {
		if s, ok := textOf(objectOf(raw)["text"]); ok {
			all = append(all, s)
		}
	}
	return all
}

func usageOf(raw json.RawMessage) usage {
	o := objectOf(raw)
	return usage{
		input:   figureOf(o["input_tokens"]),
		cached:  figureOf(o["cached_input_tokens"]),
		written: figureOf(o["cache_write_input_tokens"]),
		output:  figureOf(o["output_tokens"]),
		total:   figureOf(o["total_tokens"]),
	}
}

type object map[string]json.RawMessage

func objectOf(raw []byte) object {
	var o object
	raw = bytes.Trim(raw, " \t\r\n")
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

func (o object) text(key string) string {
	s, _ := textOf(o[key])
	return s
}

// bytes returns nil for an absent or empty text, as the scanner does: equal records then
// compare fast.
func (o object) bytes(key string) []byte {
	return append([]byte(nil), o.text(key)...)
}

// inside returns a string as it is written, without its quotes; nil for another value.
func (o object) inside(key string) []byte {
	if raw := o[key]; len(raw) > 0 && raw[0] == '"' {
		return raw[1 : len(raw)-1]
	}
	return nil
}

// value returns a value that is no string.
func (o object) value(key string) []byte {
	if raw := o[key]; len(raw) > 0 && raw[0] != '"' {
		return raw
	}
	return nil
}

func (o object) size(key string) int64 {
	return int64(max(len(o.inside(key)), len(o.value(key))))
}

func textOf(raw json.RawMessage) (s string, ok bool) {
	ok = len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil
	return s, ok
}

func realOf(raw json.RawMessage) (f float64) {
	if len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') &&
		json.Unmarshal(raw, &f) != nil {
		return 0
	}
	return f
}

func figureOf(raw json.RawMessage) int64 {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0
	}
	var f float64
	if json.Unmarshal(raw, &f) != nil { // beyond the range of a float
		f = math.Inf(1)
		if raw[0] == '-' {
			f = 0
		}
	}
	if f != math.Trunc(f) {
		return 0
	}
	return int64(max(0, min(f, 1e9)))
}
