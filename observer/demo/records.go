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

// record is a line as that client writes it, with the members that the observer reads.
type record map[string]any

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

// lines are the lines that an event adds to its session's transcript, or to that of the subagent that is named.
func (s *scribe) lines(e event) (subagent string, lines []byte) {
	if e.Session != s.session {
		s.session = e.Session
		s.last = ""
	}
	switch e.Kind {
	case kindPrompt:
		s.began = e.At
		return "", s.user(e.At, madeUpText)
	case kindReply:
		s.tool = fmt.Sprintf("toolu_demo%012x", s.rng.Uint64()>>16)
		s.output = e.Output
		block := record{
			"type":  "tool_use",
			"id":    s.tool,
			"name":  "Bash",
			"input": record{"command": "true"},
		}
		if e.Last {
			block = record{"type": "text", "text": madeUpText}
		}
		return "", s.reply(e, block)
	case kindToolResult:
		s.subagent = ""
		return "", s.user(
			e.At,
			[]record{{"type": "tool_result", "tool_use_id": s.tool, "content": madeUpText}},
		)
	case kindTurnEnd:
		millis := max(1, e.At.Sub(s.began).Milliseconds())
		return "", s.write(
			e.At,
			record{"type": "system", "subtype": "turn_duration", "durationMs": millis},
		)
	case kindCompacted:
		return "", s.compaction(e)
	case kindClear:
		return "", s.user(e.At, "<command-name>/clear</command-name>")
	case kindSubagent:
		return s.side(e)
	}
	return "", nil
}

// heard is the record of the answer to a hook.
func (s *scribe) heard(at time.Time, event, text string) []byte {
	return s.write(at, record{"type": "attachment", "attachment": record{
		"type":     "hook_additional_context",
		"content":  []string{text},
		"hookName": event,
	}})
}

func (s *scribe) user(at time.Time, content any) []byte {
	return s.write(
		at,
		record{"type": "user", "message": record{"role": "user", "content": content}},
	)
}

func (s *scribe) reply(e event, block record) []byte {
	fresh := min(2000, e.Context/2)
	r := record{"type": "assistant", "message": record{
		"id":      fmt.Sprintf("msg_demo%016x", s.rng.Uint64()),
		"role":    "assistant",
		"model":   s.model,
		"content": []record{block},
		"usage": record{
			"input_tokens":                8,
			"cache_creation_input_tokens": fresh,
			"cache_read_input_tokens":     e.Context - fresh - 8,
			"output_tokens":               e.Output,
		},
	}}
	if e.Kind == kindSubagent {
		r["isSidechain"] = true
		r["agentId"] = s.subagent
	}
	return s.write(e.At, r)
}

// compaction writes the boundary and its summary.
func (s *scribe) compaction(e event) []byte {
	s.last = ""
	lines := s.write(e.At, record{"type": "system", "subtype": "compact_boundary", "compactMetadata": record{
		"trigger":    e.Trigger,
		"preTokens":  e.Context + s.output,
		"durationMs": e.Took.Milliseconds(),
	}})
	// Long enough to prove where it is from, and like no other.
	text := fmt.Sprintf("This session is being continued from a previous conversation that ran out of context. %s "+
		"Nothing of what follows has happened: no agent has worked here, no file was changed and no command was run. "+
		"Compaction %s.", madeUpText, newUUID(s.rng))
	return append(lines, s.write(e.At.Add(-time.Millisecond), record{
		"type":             "user",
		"isCompactSummary": true,
		"message":          record{"role": "user", "content": text},
	})...)
}

// side writes a reply of a subagent, after its task where it is the first.
func (s *scribe) side(e event) (subagent string, lines []byte) {
	main := s.last
	if s.last = s.sideLast; s.subagent == "" {
		s.subagent = fmt.Sprintf("a%016x", s.rng.Uint64())
		s.last = ""
		lines = s.write(e.At, record{
			"type":        "user",
			"isSidechain": true,
			"agentId":     s.subagent,
			"message":     record{"role": "user", "content": madeUpText},
		})
	}
	lines = append(lines, s.reply(e, record{"type": "text", "text": madeUpText})...)
	s.sideLast = s.last
	s.last = main
	return s.subagent, lines
}

// write adds to a record what all have.
func (s *scribe) write(at time.Time, r record) []byte {
	if s.last != "" {
		r["parentUuid"] = s.last
	}
	s.last = newUUID(s.rng)
	r["uuid"] = s.last
	r["timestamp"] = at.UTC().Format("2006-01-02T15:04:05.000Z")
	r["cwd"] = folder
	r["sessionId"] = s.session
	r["version"] = clientVersion
	line, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and numbers can be written
	}
	return append(line, '\n')
}
