package hook

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxCharacters limits a text for an agent, in UTF-16 units, as the client
// counts them. Of a text of more than 10,000 the agent gets only the beginning
// and a file.
const MaxCharacters = 9500

// Answer is the output of a hook for the client. The zero value is empty.
type Answer struct {
	// Event is the event of the payload.
	Event Event
	// Context is shown to the agent.
	Context string
	// Deny refuses the tool call of a PreToolUse, with this reason.
	Deny string
}

// Encode encodes the answer in the form that the client accepts. It returns nil
// if the answer is empty or the event accepts none. PreCompact accepts none:
// the client would paste any answer into the prompt of the summariser. A text
// that is too long is cut.
func (a Answer) Encode() []byte {
	if a.Event == PreToolUse && a.Deny != "" {
		return Marshal(answer{output{
			Event:    a.Event,
			Decision: "deny",
			Reason:   Clip(a.Deny, MaxCharacters),
		}})
	}
	if !a.Event.TakesContext() || a.Context == "" {
		return nil
	}
	return Marshal(answer{output{Event: a.Event, Context: Clip(a.Context, MaxCharacters)}})
}

// TakesContext reports whether the answer to an event reaches the agent.
func (e Event) TakesContext() bool {
	return slices.Contains(
		[]Event{SessionStart, SubagentStart, UserPromptSubmit, PostToolUse, Stop},
		e,
	)
}

// Answered reports whether an event may have an answer.
func (e Event) Answered() bool { return e.TakesContext() || e == PreToolUse }

// answer is the body of an answer.
type answer struct {
	Output output `json:"hookSpecificOutput"`
}

// output is hookSpecificOutput. The client ignores {"result":"deny"}, and an
// output whose event is not the hook's own.
type output struct {
	Event    Event  `json:"hookEventName"`
	Decision string `json:"permissionDecision,omitempty"`
	Reason   string `json:"permissionDecisionReason,omitempty"`
	Context  string `json:"additionalContext,omitempty"`
}

// DecodeAnswer decodes an answer of Encode; ok is false for any other data.
func DecodeAnswer(data []byte) (a Answer, ok bool) {
	var in answer
	if json.Unmarshal(data, &in) != nil {
		return a, false
	}
	a = Answer{Event: in.Output.Event, Context: in.Output.Context}
	if in.Output.Decision == "deny" {
		a.Deny = in.Output.Reason
	}
	return a, a.Context != "" || a.Deny != ""
}

// Clip cuts a text to at most n UTF-16 units, as the client counts, and marks
// the cut. Invalid UTF-8 is replaced.
func Clip(s string, n int) string { return ClipBy(s, n, utf16.RuneLen) }

// ClipBy is like Clip, for a client that counts the size of characters
// differently.
func ClipBy(s string, n int, size func(rune) int) string {
	const mark = " …"
	room := n
	for _, r := range mark {
		room -= size(r)
	}
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	count := 0
	end := 0 // of the text that leaves room for the mark
	for i, r := range s {
		count += size(r)
		if count > n {
			return s[:end] + mark
		}
		if count <= room {
			end = i + utf8.RuneLen(r)
		}
	}
	return s
}
