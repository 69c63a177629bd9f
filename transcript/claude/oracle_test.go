package claude

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"sm/transcript"
	"sm/transcript/jsonwalk"
)

// oracle returns the expected result of Scan with encoding/json. It decodes the whole line
// into maps, which match keys exactly, and where the last repeated key counts.
func oracle(line []byte) (transcript.Entry, error) {
	if len(bytes.Trim(line, " \t\r\n")) == 0 {
		return transcript.Entry{}, jsonwalk.ErrBlank
	}
	o := objectOf(line)
	if o == nil {
		return transcript.Entry{}, jsonwalk.ErrNotJSON
	}
	e := transcript.Entry{
		Side:      o.isTrue("isSidechain"),
		At:        when(o.text("timestamp")),
		Version:   []byte(o.text("version")),
		CWD:       []byte(o.text("cwd")),
		SessionID: []byte(o.text("sessionId")),
		Branch:    []byte(o.text("gitBranch")),
	}
	m := objectOf(o["message"])
	e.Calls = callsOf(m["content"], o.text("type"))
	switch o.text("type") {
	case "assistant":
		e.Model = []byte(m.text("model"))
		total, context := usageOf(m["usage"])
		if context > 0 && !o.isTrue("isApiErrorMessage") && m.text("model") != "<synthetic>" {
			e.Kind, e.Message, e.Usage, e.Context = transcript.KindReading, hash(m.text("id")), total, context
			e.Parent = hash(o.text("parentUuid"))
			_, stopped := textOf(m["stop_reason"])
			c := objectOf(m["context_management"])
			e.Cleared = clearedOf(c)
			e.Partial = c == nil && !stopped
		}
	case "system":
		o.system(&e)
	case "user":
		o.user(m, &e)
	case "summary":
		e.Kind, e.Parent = transcript.KindTitle, hash(o.text("leafUuid"))
		e.Title = []byte(o.text("summary"))
		e.Titled = transcript.TitleSummary
	case "custom-title":
		e.Title = []byte(o.text("customTitle"))
		e.Titled = transcript.TitleCustom
	case "ai-title":
		e.Title = []byte(o.text("aiTitle"))
		e.Titled = transcript.TitleGenerated
	case "attachment":
		if a := objectOf(o["attachment"]); a.text("type") == "hook_additional_context" {
			e.Kind, e.Text = transcript.KindContext, ends(strings.Join(
				oursAlone(textsOf(a["content"])),
				"\n",
			))
		}
	case "last-prompt":
		if o.text("leafUuid") == "00000000-0000-0000-0000-000000000000" &&
			o.isTrue("explicit") {
			e.Kind = transcript.KindRewind
		}
	case "queue-operation":
		if s := unwrapped(o.text("content")); o.text("operation") == "enqueue" && ours(s) {
			e.Kind, e.Text = transcript.KindContext, ends(s)
		}
	}
	if e.Kind != transcript.KindOther {
		e.UUID, e.Origin = hash(o.text("uuid")), hash(objectOf(o["forkedFrom"]).text("messageUuid"))
	}
	return e, nil
}

func (o object) system(e *transcript.Entry) {
	switch o.text("subtype") {
	case "turn_duration":
		e.Kind = transcript.KindTurnEnd
	case "compact_boundary":
		c := objectOf(o["compactMetadata"])
		own, named := textOf(objectOf(c["preservedMessages"])["anchorUuid"])
		took := c["durationMs"]
		e.Marker = len(took) > 0 && took[0] >= '0' && took[0] <= '9' && figureOf(took) == 0 &&
			named &&
			own == o.text("uuid")
		e.Kind, e.Trigger, e.PreTokens = transcript.KindBoundary, transcript.Unknown, figureOf(c["preTokens"])
		e.Duration = time.Duration(figureOf(c["durationMs"])) * time.Millisecond
		switch c.text("trigger") {
		case "auto":
			e.Trigger = transcript.Auto
		case "manual":
			e.Trigger = transcript.Manual
		}
		if e.Anchor = hash(objectOf(c["preservedSegment"]).text("anchorUuid")); e.Anchor == 0 {
			e.Anchor = hash(objectOf(c["preservedMessages"]).text("anchorUuid"))
		}
	}
}

func (o object) user(m object, e *transcript.Entry) {
	body, ok := promptOf(m["content"])
	if o.isTrue("isCompactSummary") {
		e.Kind, e.Trigger, e.Parent = transcript.KindSummary, transcript.Unknown, hash(o.text("parentUuid"))
		if len(body) >= 200 {
			e.Digest = hash(body)
		}
		return
	}
	if !ok {
		return
	}
	e.Parent = hash(o.text("parentUuid"))
	if o.isTrue("isMeta") {
		e.Kind = transcript.KindAside
		return
	}
	start := strings.TrimLeft(body, " \t\r\n")
	for _, p := range []string{
		"<command-name>",
		"<command-message>",
		"<local-command-",
		"<bash-",
	} {
		if strings.HasPrefix(start, p) {
			if strings.Contains(
				start[:min(len(start), 100)],
				"<command-name>/clear</command-name>",
			) {
				e.Text = "/clear"
			}
			e.Kind = transcript.KindAside
			return
		}
	}
	if strings.HasPrefix(start, "[Request interrupted by user") {
		e.Kind = transcript.KindTurnEnd
		return
	}
	e.Kind = transcript.KindTurnStart
	if own := unwrapped(body); ours(own) {
		e.Text = ends(own)
	} else {
		e.Title = []byte(own)
		e.Titled = transcript.TitlePrompt
	}
}

// promptOf returns the text of a content; ok is false if it has a tool's result, or nothing.
func promptOf(raw json.RawMessage) (body string, ok bool) {
	if s, ok := textOf(raw); ok {
		return s, true
	}
	var list []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		return "", false
	}
	var parts []string
	for _, raw := range list {
		block := objectOf(raw)
		switch block.text("type") {
		case "tool_result":
			return "", false
		case "text":
			if s, ok := textOf(block["text"]); ok {
				parts = append(parts, s)
			}
		}
	}
	return strings.Join(parts, "\n"), len(list) > 0
}

func textsOf(raw json.RawMessage) []string {
	var list []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	parts := make([]string, len(list))
	for i, raw := range list {
		parts[i], _ = textOf(raw)
	}
	return parts
}

func ours(s string) bool {
	return strings.HasPrefix(s, "[sm ") || strings.HasPrefix(s, "Read ") &&
		strings.HasSuffix(
			strings.TrimRight(strings.Split(s, "\n[sm ")[0], "\r\n "),
			" and continue from where you left off.",
		)
}

func unwrapped(s string) string {
	if !strings.HasPrefix(s, "<pasted_content") || !strings.Contains(s, ">") {
		return s
	}
	s = s[strings.Index(s, ">")+1:]
	if i := strings.Index(s, "</pasted_content>"); i >= 0 {
		s = s[:i]
	}
	return strings.TrimSpace(s)
}

func ends(s string) string {
	if len(s) <= 1024 {
		return s
	}
	short := func(s string, n int) string {
		if len(s) <= n {
			return s
		}
		return s[:n-16] + s[len(s)-16:]
	}
	if !ours(s) && !strings.HasPrefix(s, "Read ") {
		return short(s, 1024)
	}
	lines := strings.Split(s, "\n[sm ")
	for i, line := range lines {
		lines[i] = short(line, 64)
		if i == 0 {
			lines[i] = short(line, 1024)
		}
	}
	return strings.Join(lines[:min(len(lines), 9)], "\n[sm ")
}

func oursAlone(parts []string) []string {
	if !slices.ContainsFunc(parts, ours) {
		return parts
	}
	return slices.DeleteFunc(parts, func(s string) bool { return !ours(s) })
}

// usageOf returns the tokens of the message and of its last call in a usage object.
func usageOf(raw json.RawMessage) (total transcript.Usage, context int64) {
	o := objectOf(raw)
	sum := func(o object) transcript.Usage {
		nested := objectOf(o["cache_creation"])
		created := max(figureOf(o["cache_creation_input_tokens"]),
			figureOf(nested["ephemeral_5m_input_tokens"])+figureOf(nested["ephemeral_1h_input_tokens"]))
		return transcript.Usage{
			Input:         figureOf(o["input_tokens"]),
			CacheCreation: min(created, 1e9),
			CacheRead:     figureOf(o["cache_read_input_tokens"]),
			Output:        figureOf(o["output_tokens"]),
		}
	}
	total = sum(o)
	context = total.Input + total.CacheCreation + total.CacheRead
	var calls []json.RawMessage
	if raw := o["iterations"]; len(raw) > 0 && raw[0] == '[' &&
		json.Unmarshal(raw, &calls) == nil {
		calls = slices.DeleteFunc(calls, func(raw json.RawMessage) bool {
			return slices.Contains(
				[]string{"advisor_message", "compaction"},
				objectOf(raw).text("type"),
			)
		})
		if n := len(calls); n > 0 &&
			slices.Contains(
				[]string{"message", "fallback_message"},
				objectOf(calls[n-1]).text("type"),
			) {
			last := objectOf(calls[n-1])
			flat := int64(0)
			for i, name := range []string{
				"input_tokens",
				"cache_creation_input_tokens",
				"cache_read_input_tokens",
				"output_tokens",
			} {
				if raw := last[name]; len(raw) == 0 ||
					!strings.ContainsRune("0123456789", rune(raw[0])) {
					return total, context
				} else if i < 3 {
					flat += figureOf(raw)
				}
			}
			if u := sum(last); flat > 0 {
				context = u.Input + u.CacheCreation + u.CacheRead
			}
		}
	}
	return total, context
}

// clearedOf returns the client's figure for cleared results.
func clearedOf(o object) int64 {
	estimate := o["client_estimated_cleared_input_tokens"]
	if figureOf(o["client_cut_tool_uses"]) > 0 {
		return figureOf(estimate)
	}
	var edits []json.RawMessage
	if raw := o["applied_edits"]; len(raw) == 0 || raw[0] != '[' ||
		json.Unmarshal(raw, &edits) != nil {
		return 0
	}
	sum := int64(0)
	for _, raw := range edits {
		if edit := objectOf(raw); edit.text("type") == "clear_tool_uses_20250919" {
			sum = min(sum+figureOf(edit["cleared_input_tokens"]), 1e9)
		}
	}
	if len(estimate) == 0 || estimate[0] < '0' || estimate[0] > '9' {
		return sum
	}
	if o.isTrue("client_estimate_measured_from_prompts") && sum > 0 {
		return figureOf(estimate)
	}
	return min(sum, figureOf(estimate))
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

func (o object) isTrue(key string) bool { return string(o[key]) == "true" }

func textOf(raw json.RawMessage) (s string, ok bool) {
	ok = len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil
	return s, ok
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

func when(s string) transcript.Instant {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return 0
	}
	return transcript.InstantOf(t)
}

func hash(s string) transcript.Key { return transcript.KeyOf([]byte(s)) }
