package hook

import (
	"strings"

	"sm/transcript/wording"
)

const (
	// plainPath lists the characters of paths without a meaning in shells and
	// JSON.
	plainPath = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+"
	// maxProgram limits the length that a path adds to an answer, which the
	// client cuts.
	maxProgram = 256
)

// NameProgram replaces sm by its path in the phrases of an answer, as JSON,
// that ask the agent to run it. A path that a shell may not read as one plain
// word, or that is very long, leaves the answer unchanged.
func NameProgram(answer []byte, program string) []byte {
	if program == "" || len(program) > maxProgram || strings.Trim(program, plainPath) != "" {
		return answer
	}
	return []byte(wording.NameProgram(string(answer), program))
}
