package hook

import (
	"strings"
	"unicode/utf8"

	"sm/transcript/claude/hook"
)

// MaxBytes limits a text for an agent. The client counts a token for 4 bytes; of a
// text with more than 2,500 it shows the agent the beginning and a file's name.
const MaxBytes = 9500

// Encode writes an answer as the client wants it, or nothing where the answer is empty or
// the event takes nothing. At Stop the text makes the turn go on with it, without limit: the
// caller has to limit how often. A text that is too long is cut.
func Encode(a hook.Answer) []byte {
	if a.Event != hook.Stop {
		a.Deny = clip(a.Deny)
		a.Context = clip(a.Context)
		return a.Encode() // which cuts no further: no character is shorter than a byte
	}
	if strings.TrimSpace(a.Context) == "" { // the client refuses a decision without a reason
		return nil
	}
	return hook.Marshal(struct {
		Decision string `json:"decision"`
		Reason   string `json:"reason"`
	}{"block", clip(a.Context)})
}

func clip(s string) string { return hook.ClipBy(s, MaxBytes, utf8.RuneLen) }
