package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestWriteJSONEscapes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"feature/é <&>":             `"feature/é <&>"`,
		"a\x1b[31m\x7f":             `"a\u001b[31m\u007f"`,
		"\u009b31m\u009d0;title":    `"\u009b31m\u009d0;title"`,
		"\u202egnp.exe":             `"\u202egnp.exe"`,
		"tag \U000e0041":            `"tag \udb40\udc41"`,
		"line\nbreak \"and\" quote": `"line\nbreak \"and\" quote"`,
	} {
		var b strings.Builder
		noErrors(t, writeJSON(&b, text))
		if got := b.String(); got != want+"\n" {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}

		var back string
		if err := json.Unmarshal([]byte(b.String()), &back); err != nil || back != text {
			t.Errorf("%q came back as %q, %v", text, back, err)
		}
	}
}
