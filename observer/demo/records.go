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
	model    string
	rng      *rand.Rand
	tool     string
	output   int64
	subagent string // the subagent that is at work
	began    time.Time
}

// lines are the lines that an event adds to its session's transcript, or to
// that of the subagent that is named.
func (s *scribe) lines(e event) (subagent string, lines []byte) {
	switch e.Kind {
	case kindPrompt:
		s.began = e.At
		lines = s.write(e, userRecord, quote(madeUpText))
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
		lines = s.write(e, userRecord, fmt.Sprintf(toolResult, s.tool))
	case kindTurnEnd:
		lines = s.write(e, turnEndRecord, max(1, e.At.Sub(s.began).Milliseconds()))
	case kindCompacted:
		lines = s.write(e, boundaryRecord, e.Trigger, e.Context+s.output, e.Took.Milliseconds())
		e.At = e.At.Add(-time.Millisecond)
		lines = append(lines, s.write(e, summaryRecord, newUUID(s.rng))...)
	case kindClear:
		lines = s.write(e, userRecord, `"<command-name>/clear</command-name>"`)
	case kindSubagent:
		return s.side(e)
	}
	return "", lines
}

// heard is the record of the answer to a hook.
func (s *scribe) heard(e event, hook, text string) []byte {
	e.At = e.At.Add(time.Millisecond)
	return s.write(e, hookRecord, quote(text), hook)
}

func (s *scribe) reply(e event, block, more string) []byte {
	fresh := min(2000, e.Context/2)
	return s.write(e, replyRecord+more,
		s.rng.Uint64(), s.model, block, fresh, e.Context-fresh-8, e.Output)
}

// side writes a reply of a subagent, after its task where it is the first.
func (s *scribe) side(e event) (subagent string, lines []byte) {
	first := s.subagent == ""
	if first {
		s.subagent = fmt.Sprintf("a%016x", s.rng.Uint64())
	}
	more := fmt.Sprintf(sidechain, s.subagent)
	if first {
		lines = s.write(e, userRecord+more, quote(madeUpText))
	}
	return s.subagent, append(lines, s.reply(e, textBlock, more)...)
}

// write formats a record with the members that all have.
func (s *scribe) write(e event, format string, args ...any) []byte {
	line := fmt.Appendf(nil,
		`{"uuid":%q,"timestamp":%q,"cwd":%q,"sessionId":%q,"version":%q,`,
		newUUID(s.rng), e.At.UTC().Format("2006-01-02T15:04:05.000Z"), folder, e.Session, clientVersion)
	return append(fmt.Appendf(line, format, args...), "}\n"...)
}

// quote encodes a string as JSON.
func quote(text string) string {
	b, _ := json.Marshal(text) // any string can be encoded
	return string(b)
}
