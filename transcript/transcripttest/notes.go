package transcripttest

import "time"

// note writes a line without envelope: a record that has no uuid.
func (s *Session) note(m members, at time.Time) {
	s.write(&record{whole: m.whole(), at: at})
}

// Title gives the session a title, in the way of the client; in early ones it is a
// record of type summary.
func (s *Session) Title() {
	title := words(s.rng, 4)
	switch {
	case s.client.titlesFirst(), s.client.titlesLast():
		s.writeTitle(title)
	case s.client.aiTitle() && s.chance(60):
		s.note(members(nil).str("type", "ai-title").str("aiTitle", title).str("sessionId", s.id), time.Time{})
	case s.client.customTitle():
		s.note(members(nil).str("type", "custom-title").str("customTitle", title).str("sessionId", s.id), time.Time{})
	}
}

func (s *Session) writeTitle(title string) {
	m := members(nil).str("type", "summary").str("summary", title).str("leafUuid", newUUID(s.rng))
	s.write(&record{whole: m.whole(), effect: effect{deed: titles, trigger: UnknownTrigger}})
}

// Mode writes the session's modes, as clients do at the head of a file and after a
// turn.
func (s *Session) Mode() {
	if !s.client.modes() {
		return
	}
	s.note(members(nil).str("type", "mode").str("mode", "normal").str("sessionId", s.id), time.Time{})
	s.note(members(nil).str("type", "permission-mode").str("permissionMode", "default").str("sessionId", s.id), time.Time{})
	if s.client.latch() {
		s.note(members(nil).str("type", "atis-latch").str("atis", "").str("sessionId", s.id), time.Time{})
	}
}

// LastPrompt repeats the last prompt.
func (s *Session) LastPrompt() {
	if s.client.lastPrompt() {
		s.note(members(nil).str("type", "last-prompt").str("lastPrompt", words(s.rng, 5)).str("leafUuid", s.last).str("sessionId", s.id), time.Time{})
	}
}

// QueueOperation writes what happens to the queue of prompts: enqueue, dequeue,
// remove.
func (s *Session) QueueOperation(op, content string) {
	if !s.client.queue() {
		return
	}
	at := s.tick()
	m := members(nil).str("type", "queue-operation").str("operation", op).timestamp(at)
	if content == "" {
		s.note(m.str("sessionId", s.id), at)
	} else if s.client.in(2_001_226, 0) {
		s.note(m.str("content", content).str("sessionId", s.id), at)
	} else {
		s.note(m.str("sessionId", s.id).str("content", content), at)
	}
}

// snapshot notes the state of the files before a record.
func (s *Session) snapshot(r *record) {
	if !s.client.snapshots() {
		return
	}
	m := members(nil).str("type", "file-history-snapshot").str("messageId", r.uuid).open("snapshot").str("messageId", r.uuid).
		raw("trackedFileBackups", "{}").timestamp(r.at).shut().flag("isSnapshotUpdate", false)
	s.note(m, time.Time{})
}

// TurnDuration ends a turn.
func (s *Session) TurnDuration() {
	if !s.client.turnDuration() {
		return
	}
	m := members(nil).str("type", "system").str("subtype", "turn_duration").num("durationMs", 900+s.rng.Int64N(90_000))
	if s.client.trailing() {
		m = m.num("messageCount", 2+s.rng.Int64N(60))
	}
	r := s.body(m)
	r.stampFirst = true
	r.extra = members(nil).flag("isMeta", false)
	s.write(r)
}

// Attachment writes what the client adds to the conversation by itself: about size
// bytes of it.
func (s *Session) Attachment(size int) {
	if !s.client.attachments() {
		return
	}
	m := members(nil).open("attachment")
	switch s.rng.IntN(3) {
	case 0:
		m = m.str("type", "skill_listing").quoted("content", s.prose.take(s.rng, size)).num("skillCount", 13).flag("isInitial", true)
	case 1:
		m = append(m.str("type", "hook_additional_context").key("content"), '[', '"')
		m = append(append(m, s.prose.take(s.rng, size)...), '"', ']')
		m = m.str("hookName", "PostToolUse:Bash").str("toolUseID", newID(s.rng, "toolu_01")).str("hookEvent", "PostToolUse")
	default:
		m = m.str("type", "task_reminder").raw("content", "[]").num("itemCount", 0).
			raw("usage", string(s.trap(700_000)))
	}
	s.write(s.body(m.shut().str("type", "attachment")))
}

// Progress writes how far tools are; half of the records hold the usage of a
// subagent's message, as if it were one of the session.
func (s *Session) Progress(size int) {
	if !s.client.progress() {
		return
	}
	m := members(nil).str("type", "progress").open("data")
	switch s.rng.IntN(4) {
	case 0:
		m = m.str("type", "bash_progress").quoted("output", s.prose.take(s.rng, size)).num("elapsedTimeSeconds", 3).shut()
	case 1:
		m = m.str("type", "hook_progress").str("hookEvent", "PostToolUse").str("hookName", "PostToolUse:Read").str("command", "callback").shut()
	default:
		m = m.str("type", "agent_progress").str("agentId", newHex(s.rng, "a", 6))
		m = m.open("message").str("type", "assistant").timestamp(s.now)
		m = m.open("message").str("model", "claude-haiku-4-5-20251001").str("id", newID(s.rng, "msg_01")).str("type", "message").str("role", "assistant")
		m = append(m.key("content"), '[', '{')
		m = append(m.str("type", "text").quoted("text", s.prose.take(s.rng, size)).shut(), ']')
		m = m.raw("usage", string(s.trap(600_000+s.rng.Int64N(300_000)))).shut()
		m = m.str("requestId", newID(s.rng, "req_011C")).str("uuid", newUUID(s.rng)).shut().shut()
	}
	s.write(s.body(m.str("toolUseID", newID(s.rng, "toolu_01")).str("parentToolUseID", newID(s.rng, "toolu_01"))))
}

// Microcompact trims old tool results, which is no compaction.
func (s *Session) Microcompact() {
	if !s.client.microcompact() {
		return
	}
	r := s.body(members(nil).str("type", "system").str("subtype", "microcompact_boundary").str("content", "Context microcompacted").flag("isMeta", false))
	r.stampFirst = true
	r.extra = members(nil).str("level", "info").open("microcompactMetadata").str("trigger", "auto").num("preTokens", s.context/2).
		num("tokensSaved", s.context/4).raw("compactedToolIds", "[]").raw("clearedAttachmentUUIDs", "[]").shut()
	s.write(r)
	s.context -= s.context / 4
}

// APIError writes the row that a failed request leaves; it spends nothing.
func (s *Session) APIError() { s.synthetic("API Error: 400 asked to fail", true) }

// NoResponse writes the row that the client answers itself where no answer is
// wanted.
func (s *Session) NoResponse() { s.synthetic("No response requested.", false) }

func (s *Session) synthetic(text string, failed bool) {
	if s.client.bare() {
		return
	}
	m := members{'{'}.str("id", newUUID(s.rng)).raw("container", "null").str("model", syntheticModel).str("role", "assistant").
		str("stop_reason", "stop_sequence").str("stop_sequence", "").str("type", "message")
	m = m.open("usage").num("input_tokens", 0).num("output_tokens", 0).num("cache_creation_input_tokens", 0).num("cache_read_input_tokens", 0).
		raw("server_tool_use", `{"web_search_requests":0,"web_fetch_requests":0}`).raw("service_tier", "null").
		raw("cache_creation", `{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":0}`).shut()
	m = append(m.key("content"), '[', '{')
	m = append(m.str("type", "text").str("text", text).shut(), ']', '}')
	r := s.body(members(nil).str("type", "assistant"))
	r.extra = members(nil).raw("message", string(m))
	if failed {
		r.extra = members(r.extra).str("error", "unknown").flag("isApiErrorMessage", true).num("apiErrorStatus", 400)
	}
	s.write(r)
}

// Retry notes a request that will be tried again.
func (s *Session) Retry() {
	if !s.client.in(2_000_005, 0) {
		return
	}
	r := s.body(members(nil).str("type", "system").str("subtype", "api_error").str("level", "error").raw("error", `{"type":null}`).
		raw("retryInMs", "610.3403532473944").num("retryAttempt", 1).num("maxRetries", 10))
	r.stampFirst = true
	s.write(r)
}

// Interrupt writes that the user broke off a turn.
func (s *Session) Interrupt() {
	if s.client.bare() {
		return
	}
	s.write(s.body(append(members(nil).str("type", "user").open("message").str("role", "user").key("content"),
		`[{"type":"text","text":"[Request interrupted by user]"}]}`...)))
}
