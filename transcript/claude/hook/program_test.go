package hook

import (
	"strings"
	"testing"
)

// TestNameProgram tests that only text that every shell and JSON read unchanged is put into
// an answer.
func TestNameProgram(t *testing.T) {
	t.Parallel()
	const answer = `{"additionalContext":"run sm handoff PATH. Call sm handoff again, run sm status, rerun sm handoffs"}`
	for program, want := range map[string]string{
		"/home/u/.local/bin/sm":               `{"additionalContext":"run /home/u/.local/bin/sm handoff PATH. Call /home/u/.local/bin/sm handoff again, run sm status, rerun /home/u/.local/bin/sm handoffs"}`,
		"":                                    answer,
		"/with space/sm":                      answer,
		`/a"b/sm`:                             answer,
		`/a\b/sm`:                             answer,
		"/a;b/sm":                             answer,
		"/$(x)/sm":                            answer,
		"/ä/sm":                               answer,
		"/" + strings.Repeat("x", maxProgram): answer,
	} {
		if got := string(NameProgram([]byte(answer), program)); got != want {
			t.Errorf("%s: %s", program, got)
		}
	}
}
