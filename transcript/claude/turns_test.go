package claude

import (
	"fmt"
	"testing"

	"sm/transcript"
)

// TestTurnsFromOutside: messages of other sessions and of plugins begin turns, and
// prompts that are sent together begin one.
func TestTurnsFromOutside(t *testing.T) {
	const turnEnd = `{"type":"system","subtype":"turn_duration","uuid":"e1"}`
	said := func(uuid, fields string) string {
		return fmt.Sprintf(
			`{"type":"user","uuid":%q,%s"message":{"content":"Another Claude session sent a message: hello"}}`,
			uuid,
			fields,
		)
	}
	const (
		peer   = `"isMeta":true,"origin":{"kind":"peer","body":"hello"},`
		plugin = `"origin":{"kind":"plugin"},`
		first  = `"turnPosition":{"promptIndex":0,"turnIndex":1},`
		second = `"turnPosition":{"promptIndex":0,"turnIndex":2},`
	)
	caveat := `{"type":"user","uuid":"c","isMeta":true,"origin":{"kind":"plugin"},"message":{"content":"<local-command-caveat>x"}}`
	tests := map[string]struct {
		lines []string
		want  int
	}{
		"peer":                         {[]string{said("a", peer+first)}, 1},
		"peer of an older client":      {[]string{said("a", peer)}, 1},
		"two of an older client":       {[]string{said("a", peer), turnEnd, said("b", peer)}, 2},
		"meta record with a turn":      {[]string{said("a", `"isMeta":true,`+first)}, 1},
		"meta record without a turn":   {[]string{said("a", `"isMeta":true,`)}, 0},
		"command of a plugin":          {[]string{caveat}, 0},
		"two messages in one turn":     {[]string{said("a", plugin+first), said("b", plugin+first)}, 1},
		"two messages, two turns":      {[]string{said("a", plugin+first), turnEnd, said("b", plugin+second)}, 2},
		"number again after a restart": {[]string{said("a", peer+first), turnEnd, said("b", peer+first)}, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := folded(t, test.lines...)
			if f.Session.Turns != test.want {
				t.Errorf("%d turns, want %d", f.Session.Turns, test.want)
			}
			if title := f.Facts().Title; test.want > 0 && len(test.lines) == 1 && title.Text != "" {
				t.Errorf("title %q of a message by another session", title.Text)
			}
		})
	}
}

// TestContinued: the last record of a session names the one that goes on from it.
func TestContinued(t *testing.T) {
	const next = "c12e21ac-9a3e-42bb-8438-98c8baf71020"
	for id, want := range map[string]transcript.Entry{
		next:   {Kind: transcript.KindContinued, Text: next},
		"next": {},
	} {
		var e transcript.Entry
		if err := Scan([]byte(`{"type":"continued-in","continuedInSessionId":"`+id+`"}`), &e); err != nil {
			t.Fatal(err)
		}
		if e.Kind != want.Kind || e.Text != want.Text {
			t.Errorf("%s: kind %d, text %q", id, e.Kind, e.Text)
		}
	}
}
