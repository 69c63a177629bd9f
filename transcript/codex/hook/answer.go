package hook

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"sm/transcript/claude/hook"
)

// MaxBytes bounds what an agent is told at once. The client counts a token for 4 bytes, and
// instead of what has more than 2500 it shows the agent the beginning and a file's name.
const MaxBytes = 9500

type context struct {
	Event   hook.Event `json:"hookEventName"`
	Context string     `json:"additionalContext"`
}

type refusal struct {
	Event    hook.Event `json:"hookEventName"`
	Decision string     `json:"permissionDecision"`
	Reason   string     `json:"permissionDecisionReason"`
}

// Encode writes an answer as the client wants it, or nothing where there is nothing to say or
// the event takes nothing. At Stop the text makes the turn go on with it: the client sets no
// bound to how often, so who answers has to. A text that is too long is cut.
func Encode(a hook.Answer) []byte {
	switch a.Event {
	case hook.PreToolUse:
		if a.Deny != "" {
			return output(refusal{a.Event, "deny", clip(a.Deny)})
		}
	case hook.SessionStart, hook.SubagentStart, hook.UserPromptSubmit, hook.PostToolUse:
		if a.Context != "" {
			return output(context{a.Event, clip(a.Context)})
		}
	case hook.Stop:
		if strings.TrimSpace(a.Context) != "" { // the client refuses a decision without a reason
			return encode(struct {
				Decision string `json:"decision"`
				Reason   string `json:"reason"`
			}{"block", clip(a.Context)})
		}
	}
	return nil
}

func output(v any) []byte {
	return encode(struct {
		Output any `json:"hookSpecificOutput"`
	}{v})
}

// encode is json.Marshal without \u003c for <.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil { // it is texts alone
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// clip cuts a text to MaxBytes, between two characters, and marks the cut. What is not UTF-8 is
// replaced.
func clip(s string) string {
	const mark = " …"
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= MaxBytes {
		return s
	}
	end := MaxBytes - len(mark)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}
