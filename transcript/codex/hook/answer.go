package hook

import (
	"strings"
	"unicode/utf8"

	"sm/transcript/claude/hook"
)

// MaxBytes limits a text for an agent. The client counts 4 bytes as a token; of
// a text with more than 2,500 tokens it shows the agent the beginning and the
// name of a file.
const MaxBytes = 9500

// Encode encodes an answer in the form that the client accepts. It returns nil
// if the answer is empty or the event accepts none. At Stop the text makes the
// turn continue with it, without limit: the caller must limit how often. A text
// that is too long is cut.
func Encode(a hook.Answer) []byte {
	if a.Event != hook.Stop {
		a.Deny = clip(a.Deny)
		a.Context = clip(a.Context)
		return a.Encode() // cuts no more: no character is shorter than a byte
	}
	if strings.TrimSpace(a.Context) == "" { // the client rejects a decision without a reason
		return nil
	}
	return hook.Marshal(struct {
		Decision string `json:"decision"`
		Reason   string `json:"reason"`
	}{"block", clip(a.Context)})
}

func clip(s string) string { return hook.ClipBy(s, MaxBytes, utf8.RuneLen) }
