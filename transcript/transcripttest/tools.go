package transcripttest

// Result says what a tool's result is like. The zero value is a line of text.
type Result struct {
	// Size is that of the text; it stands in the record twice, as what the model
	// sees and as what the client keeps.
	Size int
	// Image is the size of a picture instead, in base64.
	Image int
	// Error marks a failure.
	Error bool
}

// ToolResult answers the oldest call of a tool. Without a waiting call it writes a
// result of an unknown one, as clients do after a compaction.
func (s *Session) ToolResult(o Result) {
	c := call{id: newID(s.rng, "toolu_01")}
	if len(s.calls) > 0 {
		c, s.calls = s.calls[0], s.calls[1:]
	}
	text := s.prose.take(s.rng, o.Size)
	if len(text) == 0 {
		text = appendEscaped(nil, words(s.rng, 4))
	}
	m := members(nil).str("type", "user").open("message").str("role", "user")
	m = append(m.key("content"), '[', '{')
	m = m.str("tool_use_id", c.id).str("type", "tool_result")
	var kept members
	switch {
	case o.Image > 0:
		data := s.prose.picture(s.rng, o.Image)
		m = append(m.key("content"), `[{"type":"image","source":{"type":"base64","media_type":"image/png"`...)
		m = append(m.quoted("data", data), "}}]"...)
		kept = members{'{'}.str("type", "image").open("file").quoted("base64", data).str("type", "image/png").num("originalSize", int64(o.Image)).shut().shut()
	case c.task:
		m = append(m.key("content"), '[', '{')
		m = append(m.str("type", "text").quoted("text", text).shut(), ']')
		kept = s.taskResult(text)
	default:
		m = m.quoted("content", text).flag("is_error", o.Error)
		kept = s.commandResult(text, o.Size)
	}
	m = append(m.shut(), ']').shut()
	r := s.body(m)
	r.promptID = s.promptID
	r.extra = members(nil).raw("toolUseResult", string(kept))
	if s.client.in(2_001_030, 0) && c.uuid != "" {
		r.extra = members(r.extra).str("sourceToolAssistantUUID", c.uuid)
	}
	s.write(r)
}

// commandResult is what the client keeps of a command's output, or of a file.
func (s *Session) commandResult(text []byte, size int) members {
	if size > 2_000 && s.chance(50) {
		return members{'{'}.str("type", "text").open("file").str("filePath", s.cwd+"/"+words(s.rng, 1)+".go").
			quoted("content", text).num("numLines", int64(size/30)).num("startLine", 1).num("totalLines", int64(size/30)).shut().shut()
	}
	m := members{'{'}.quoted("stdout", text).str("stderr", "").flag("interrupted", false).flag("isImage", false)
	if s.client.in(2_001_040, 0) {
		m = m.flag("noOutputExpected", false)
	}
	return m.shut()
}

// taskResult is what the client keeps of a subagent's work: a trap, for it holds
// the usage of the subagent's last message in plain sight.
func (s *Session) taskResult(text []byte) members {
	m := members{'{'}.str("status", "completed").str("prompt", words(s.rng, 5)).str("agentId", newHex(s.rng, "a", 7))
	m = append(m.key("content"), '[', '{')
	m = append(m.str("type", "text").quoted("text", text).shut(), ']')
	total := 100_000 + s.rng.Int64N(800_000)
	return m.num("totalDurationMs", 4_200).num("totalTokens", total).num("totalToolUseCount", 3).
		raw("usage", string(s.trap(total))).shut()
}

// trap is a usage object that is none of the session's.
func (s *Session) trap(total int64) members {
	return members{'{'}.num("input_tokens", 7).num("cache_creation_input_tokens", 1_000).num("cache_read_input_tokens", total-1_007).
		num("output_tokens", 4_321).str("service_tier", "standard").shut()
}
