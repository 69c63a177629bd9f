package demo

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"
)

// What the records of a demo contain about themselves. The project's name is the folder's.
const (
	clientVersion = "2.1.197"
	folder        = "/demo"
	madeUpText    = "Made up for a demo."
)

// The records of a client, with the members that the observer reads.
const (
	userRecord = `"type":"user","message":{"role":"user","content":%s}`
	textBlock  = `{"type":"text","text":"` + madeUpText + `"}`
	toolBlock  = `{"type":"tool_use","id":%q,"name":"Bash","input":{"command":"true"}}`
	toolResult = `[{"type":"tool_result","tool_use_id":%q,"content":"` + madeUpText + `"}]`

	replyRecord = `"type":"assistant","message":{"id":"msg_demo%016x","role":"assistant",` +
		`"model":%q,"content":[%s],"usage":{"input_tokens":8,"cache_creation_input_tokens":%d,` +
		`"cache_read_input_tokens":%d,"output_tokens":%d}}`
	sidechain      = `,"isSidechain":true,"agentId":%q`
	turnEndRecord  = `"type":"system","subtype":"turn_duration","durationMs":%d`
	boundaryRecord = `"type":"system","subtype":"compact_boundary",` +
		`"compactMetadata":{"trigger":%q,"preTokens":%d,"durationMs":%d}`
	// The summary is long enough to prove where it is from, and like no other.
	summaryRecord = `"type":"user","isCompactSummary":true,"message":{"role":"user","content":` +
		`"This session is being continued from a previous conversation that ran out of context. ` +
		madeUpText + ` Nothing of what follows has happened: no agent has worked here, ` +
		`no file was changed and no command was run. Compaction %s."}`
	hookRecord = `"type":"attachment","attachment":{"type":"hook_additional_context",` +
		`"content":[%s],"hookName":%q}`
)

// scribe writes what one agent does as the lines of its transcripts.
type scribe struct {
	model              string
	rng                *rand.Rand
	session, last      string // the session that it writes for, and its last record
	tool               string
	output             int64
	subagent, sideLast string // the subagent that is at work, and its newest record
	began              time.Time
}

// lines are the lines that an event adds to its session's transcript, or to
// that of the subagent that is named.
func (s *scribe) lines(e event) (subagent string, lines []byte) {
	if e.Session != s.session {
		s.session = e.Session
		s.last = ""
	}
	switch e.Kind {
	case kindPrompt:
		s.began = e.At
		lines = s.write(e.At, userRecord, quote(madeUpText))
	case kindReply:
		s.tool = fmt.Sprintf("toolu_demo%012x", s.rng.Uint64()>>16)
		s.output = e.Output
		block := fmt.Sprintf(toolBlock, s.tool)
		if e.Last {
			block = textBlock
		}
		lines = s.reply(e, block, "")
	case kindToolResult:
		s.subagent = ""
		lines = s.write(e.At, userRecord, fmt.Sprintf(toolResult, s.tool))
	case kindTurnEnd:
		lines = s.write(e.At, turnEndRecord, max(1, e.At.Sub(s.began).Milliseconds()))
	case kindCompacted:
		s.last = ""
		lines = s.write(e.At, boundaryRecord, e.Trigger, e.Context+s.output, e.Took.Milliseconds())
		summary := s.write(e.At.Add(-time.Millisecond), summaryRecord, newUUID(s.rng))
		lines = append(lines, summary...)
	case kindClear:
		lines = s.write(e.At, userRecord, `"<command-name>/clear</command-name>"`)
	case kindSubagent:
		return s.side(e)
	}
	return "", lines
}

// heard is the record of the answer to a hook.
func (s *scribe) heard(at time.Time, event, text string) []byte {
	return s.write(at, hookRecord, quote(text), event)
}

func (s *scribe) reply(e event, block, more string) []byte {
	fresh := min(2000, e.Context/2)
	return s.write(e.At, replyRecord+more,
		s.rng.Uint64(), s.model, block, fresh, e.Context-fresh-8, e.Output)
}

// side writes a reply of a subagent, after its task where it is the first.
func (s *scribe) side(e event) (subagent string, lines []byte) {
	main := s.last
	s.last = s.sideLast
	first := s.subagent == ""
	if first {
		s.subagent = fmt.Sprintf("a%016x", s.rng.Uint64())
		s.last = ""
	}
	more := fmt.Sprintf(sidechain, s.subagent)
	if first {
		lines = s.write(e.At, userRecord+more, quote(madeUpText))
	}
	lines = append(lines, s.reply(e, textBlock, more)...)
	s.sideLast = s.last
	s.last = main
	return s.subagent, lines
}

// write formats a record with the members that all have.
func (s *scribe) write(at time.Time, format string, args ...any) []byte {
	parent := "null"
	if s.last != "" {
		parent = quote(s.last)
	}
	s.last = newUUID(s.rng)
	line := fmt.Appendf(nil,
		`{"uuid":%q,"parentUuid":%s,"timestamp":%q,"cwd":%q,"sessionId":%q,"version":%q,`,
		s.last, parent, at.UTC().Format("2006-01-02T15:04:05.000Z"), folder, s.session, clientVersion)
	return append(fmt.Appendf(line, format, args...), "}\n"...)
}

// quote encodes a string as JSON.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string can be encoded
	}
	return string(b)
}
