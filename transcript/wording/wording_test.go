package wording

import (
	"strings"
	"testing"
)

// TestReadAgain tests that written texts are recognized, with the text around them in
// transcripts, and that similar texts are not.
func TestReadAgain(t *testing.T) {
	t.Parallel()
	prompt := Resume("/home/dev/a b.md")
	document := DocumentLine("2026-11-20-web")
	for _, h := range []string{Message, Context, Handoff, Remind, Guard} {
		if !strings.HasPrefix(h, Heading) || !strings.HasSuffix(h, "] ") {
			t.Errorf("%q is no heading", h)
		}
	}
	for text, want := range map[string]bool{
		Context + "Full." + IDMark + "a1b2c3": true,
		document + "\nChannel: web\n":         true,
		prompt:                                true,
		prompt + " \r\n":                      true,
		prompt + "\n" + Message + "Look." + IDMark + "a1b2": true,
		"":                                   false,
		"sm message":                         false,
		" " + Message:                        false,
		"> " + prompt:                        false,
		prompt + " Or not.":                  false,
		strings.TrimSuffix(prompt, "."):      false,
		"Read the file.\n" + Message + "Hi.": false,
		document[1:]:                         false,
	} {
		if IsOurs([]byte(text)) != want {
			t.Errorf("%q: want ours %t", text, want)
		}
	}
	if path, ok := ResumePath(prompt); !ok || path != "/home/dev/a b.md" ||
		!MayResume(prompt) {
		t.Errorf("got %q, %t", path, ok)
	}
	if _, ok := ResumePath(prompt + " Or not."); ok {
		t.Error("another prompt has a path")
	}
	if id, ok := DocumentID(document + "\nmore"); !ok || id != "2026-11-20-web" ||
		!IsDocument(document) {
		t.Errorf("got %q, %t", id, ok)
	}
	if _, ok := DocumentID("=== HANDOFF LOADED (ID: cut"); ok {
		t.Error("got an id without an end")
	}
}
