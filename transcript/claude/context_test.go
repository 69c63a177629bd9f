package claude

import (
	"testing"

	"sm/transcript"
)

// TestContextTextIsItsOwn tests that an entry's text does not refer to the line's buffer, which
// is reused.
func TestContextTextIsItsOwn(t *testing.T) {
	line := []byte(prompted("a", `"[sm 7] time to write"`))
	var e transcript.Entry
	noErrors(t, scan(line, &e))
	clear(line)
	if e.Text != "[sm 7] time to write" {
		t.Errorf("now %q", e.Text)
	}
}
