package claude

import (
	"testing"

	"sm/transcript"
)

// TestHeardTextIsItsOwn: the line's buffer is used again.
func TestHeardTextIsItsOwn(t *testing.T) {
	line := []byte(prompted("a", `"[sm 7] time to write"`))
	var e transcript.Entry
	noErrors(t, scan(line, &e))
	clear(line)
	if e.Text != "[sm 7] time to write" {
		t.Errorf("now %q", e.Text)
	}
}
