package claude

import (
	"fmt"
	"testing"

	"sm/transcript"
)

// behind returns a line with the record that it follows.
func behind(parent, line string) string {
	return fmt.Sprintf(
		`{"parentUuid":%q,`,
		parent,
	) + line[1:]
}

// known returns a session's context size, 0 while it is unknown.
func known(s *transcript.Session) int64 {
	if tokens, ok := s.Context(); ok {
		return tokens
	}
	return 0
}

// TestPointsAreBounded tests that a session of many turns keeps only the newest points.
func TestPointsAreBounded(t *testing.T) {
	f := NewFold("x", false)
	for i := range 3 * pointsKept {
		line := behind(fmt.Sprint("e", i), prompted(fmt.Sprint("p", i), `"Go on."`))
		f.Line([]byte(line), len(line), &transcript.Entry{})
		if n := len(f.chain.points); n == 0 || n > pointsKept {
			t.Fatalf("%d points after %d prompts", n, i+1)
		}
	}
}
