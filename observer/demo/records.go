package demo

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"
)

// What the records of a demo say of themselves. The project's name is the folder's.
const (
	clientVersion = "2.1.197"
	folder        = "/demo"
	madeUpText    = "Made up for a demo."
)

// record is a line as that client writes it, with the members that this one needs.
type record struct {
	Parent     *string     `json:"parentUuid"`
	Logical    string      `json:"logicalParentUuid,omitempty"`
	Sidechain  bool        `json:"isSidechain"`
	PromptID   string      `json:"promptId,omitempty"`
	AgentID    string      `json:"agentId,omitempty"`
	Message    *message    `json:"message,omitempty"`
	Attachment *attachment `json:"attachment,omitempty"`
	Type       string      `json:"type"`
	Subtype    string      `json:"subtype,omitempty"`
	Content    string      `json:"content,omitempty"`
	Level      string      `json:"level,omitempty"`
	Compact    *compaction `json:"compactMetadata,omitempty"`
	Duration   int64       `json:"durationMs,omitempty"`
	Visible    bool        `json:"isVisibleInTranscriptOnly,omitempty"`
	Summary    bool        `json:"isCompactSummary,omitempty"`
	UUID       string      `json:"uuid"`
	Timestamp  string      `json:"timestamp"`
	UserType   string      `json:"userType"`
	Entrypoint string      `json:"entrypoint"`
	CWD        string      `json:"cwd"`
	SessionID  string      `json:"sessionId"`
	Version    string      `json:"version"`
	Branch     string      `json:"gitBranch"`
}

type message struct {
	ID      string `json:"id,omitempty"`
	Type    string `json:"type,omitempty"`
	Role    string `json:"role"`
	Model   string `json:"model,omitempty"`
	Content any    `json:"content"`
	Stop    string `json:"stop_reason,omitempty"`
	Usage   *usage `json:"usage,omitempty"`
}

type block struct {
	Type    string `json:"type"`
	Text    string `json:"text,omitempty"`
	ID      string `json:"id,omitempty"`
	Name    string `json:"name,omitempty"`
	Input   any    `json:"input,omitempty"`
	ToolUse string `json:"tool_use_id,omitempty"`
	Content string `json:"content,omitempty"`
}

type usage struct {
	Input    int64  `json:"input_tokens"`
	Creation int64  `json:"cache_creation_input_tokens"`
	Read     int64  `json:"cache_read_input_tokens"`
	Output   int64  `json:"output_tokens"`
	Cache    cache  `json:"cache_creation"`
	Tier     string `json:"service_tier"`
}

type cache struct {
	Hour    int64 `json:"ephemeral_1h_input_tokens"`
	Minutes int64 `json:"ephemeral_5m_input_tokens"`
}

type attachment struct {
	Type    string   `json:"type"`
	Content []string `json:"content"`
	Hook    string   `json:"hookName"`
	ToolUse string   `json:"toolUseID"`
	Event   string   `json:"hookEvent"`
}

type compaction struct {
	Trigger   string    `json:"trigger"`
	PreTokens int64     `json:"preTokens"`
	Duration  int64     `json:"durationMs"`
	Segment   preserved `json:"preservedSegment"`
	After     int64     `json:"postTokens"`
}

type preserved struct {
	Head   string `json:"headUuid"`
	Anchor string `json:"anchorUuid"`
	Tail   string `json:"tailUuid"`
}

// scribe writes what one agent does as the lines of its transcripts.
type scribe struct {
	temper              temper
	rng                 *rand.Rand
	session, last       string // the session that it writes for, and its last record
	promptID, tool      string
	output              int64
	subagent, sideLast  string // the subagent that is at work, and its newest record
	began, compactBegan time.Time
}

// lines are the lines that an event adds to its session's transcript, or to that of the subagent that is named.
func (s *scribe) lines(e event) (subagent string, lines []byte) {
	if e.Session != s.session {
		s.session = e.Session
		s.last = ""
		s.tool = ""
	}
	switch e.Kind {
	case kindPrompt:
		s.promptID = newUUID(s.rng)
		s.began = e.At
		return "", s.user(e.At, madeUpText)
	case kindReply:
		return "", s.reply(e)
	case kindToolResult:
		s.subagent = ""
		s.sideLast = ""
		return "", s.user(e.At, []block{{Type: "tool_result", ToolUse: s.tool, Content: madeUpText}})
	case kindTurnEnd:
		return "", s.write(e.At, record{
			Type:     "system",
			Subtype:  "turn_duration",
			Duration: max(1, e.At.Sub(s.began).Milliseconds()),
		})
	case kindCompacting:
		s.compactBegan = e.At
	case kindCompacted:
		return "", s.compaction(e)
	case kindClear:
		return "", append(s.user(
			e.At,
			"<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>",
		),
			s.user(e.At, "<local-command-stdout></local-command-stdout>")...)
	case kindSubagent:
		return s.side(e)
	}
	return "", nil
}

// heard is the record of the answer to a hook.
func (s *scribe) heard(at time.Time, event, text string) []byte {
	return s.write(at, record{Type: "attachment", Attachment: &attachment{
		Type:    "hook_additional_context",
		Content: []string{text},
		Hook:    event,
		ToolUse: s.tool,
		Event:   event,
	}})
}

func (s *scribe) user(at time.Time, content any) []byte {
	return s.write(at, record{Type: "user", PromptID: s.promptID, Message: &message{Role: "user", Content: content}})
}

// reply writes what one answer of the model comes in: a line for each block, all with the same id and usage.
func (s *scribe) reply(e event) []byte {
	s.output = e.Output
	id := fmt.Sprintf("msg_demo%016x", s.rng.Uint64())
	blocks := []block{{Type: "text", Text: madeUpText}}
	stop := "end_turn"
	if !e.Last {
		s.tool = fmt.Sprintf("toolu_demo%012x", s.rng.Uint64()>>16)
		stop = "tool_use"
		blocks = append(blocks, block{
			Type:  "tool_use",
			ID:    s.tool,
			Name:  "Bash",
			Input: map[string]string{"command": "true"},
		})
	}
	var lines []byte
	for _, b := range blocks {
		lines = append(lines, s.write(e.At, record{Type: "assistant", Message: s.message(id, stop, b, e)})...)
	}
	return lines
}

func (s *scribe) message(id, stop string, b block, e event) *message {
	return &message{
		ID:      id,
		Type:    "message",
		Role:    "assistant",
		Model:   s.temper.model,
		Content: []block{b},
		Stop:    stop,
		Usage:   usageOf(e),
	}
}

func usageOf(e event) *usage {
	fresh := min(2000, e.Context/2)
	return &usage{
		Input:    8,
		Creation: fresh,
		Read:     e.Context - fresh - 8,
		Output:   e.Output,
		Cache:    cache{Minutes: fresh},
		Tier:     "standard",
	}
}

// compaction writes the boundary and its summary, and the command where the agent asked for it.
func (s *scribe) compaction(e event) []byte {
	summary := newUUID(s.rng)
	tail := s.last
	boundary := record{
		Type:    "system",
		Subtype: "compact_boundary",
		Content: "Conversation compacted",
		Level:   "info",
		Logical: tail,
		Compact: &compaction{
			Trigger:   e.Trigger,
			PreTokens: e.Context + s.output,
			Duration:  e.At.Sub(s.compactBegan).Milliseconds(),
			Segment:   preserved{tail, summary, tail},
			After:     1000 + s.rng.Int64N(8000),
		},
	}
	s.last = ""
	lines := s.write(e.At, boundary)
	// Long enough to prove where it is from, and like no other.
	text := fmt.Sprintf("This session is being continued from a previous conversation that ran out of context. %s "+
		"Nothing of what follows has happened: no agent has worked here, no file was changed and no command was run. "+
		"The summary of a real session would stand in this place. Compaction %s.", madeUpText, summary)
	lines = append(lines, s.line(e.At.Add(-time.Millisecond), summary, record{
		Type:     "user",
		PromptID: s.promptID,
		Visible:  true,
		Summary:  true,
		Message:  &message{Role: "user", Content: text},
	})...)
	if e.Trigger == "manual" {
		lines = append(
			lines,
			s.user(
				s.compactBegan,
				"<command-name>/compact</command-name>\n<command-message>compact</command-message>\n<command-args></command-args>",
			)...,
		)
		lines = append(lines, s.user(e.At, "<local-command-stdout>Compacted</local-command-stdout>")...)
	}
	return lines
}

// side writes a reply of a subagent, after its task where it is the first.
func (s *scribe) side(e event) (subagent string, lines []byte) {
	main := s.last
	if s.last = s.sideLast; s.subagent == "" {
		s.subagent = fmt.Sprintf("a%016x", s.rng.Uint64())
		s.last = ""
		lines = s.write(e.At, record{
			Type:      "user",
			Sidechain: true,
			AgentID:   s.subagent,
			Message:   &message{Role: "user", Content: madeUpText},
		})
	}
	id := fmt.Sprintf("msg_demo%016x", s.rng.Uint64())
	lines = append(lines, s.write(e.At, record{
		Type:      "assistant",
		Sidechain: true,
		AgentID:   s.subagent,
		Message:   s.message(id, "end_turn", block{Type: "text", Text: madeUpText}, e),
	})...)
	s.last, s.sideLast = main, s.last
	return s.subagent, lines
}

func (s *scribe) write(at time.Time, r record) []byte { return s.line(at, newUUID(s.rng), r) }

// line adds to a record what all have.
func (s *scribe) line(at time.Time, uuid string, r record) []byte {
	if s.last != "" {
		parent := s.last
		r.Parent = &parent
	}
	s.last = uuid
	r.UUID, r.Timestamp = uuid, at.UTC().Format("2006-01-02T15:04:05.000Z")
	r.UserType = "external"
	r.Entrypoint = "cli"
	r.CWD = folder
	r.SessionID = s.session
	r.Version = clientVersion
	r.Branch = "main"
	line, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and numbers: there is nothing that cannot be written
	}
	return append(line, '\n')
}
