package hook

import (
	"strings"

	"sm/transcript/wording"
)

const (
	// plainPath are the characters of paths that mean nothing to a shell, nor to JSON.
	plainPath = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+"
	// maxProgram bounds what a path adds to an answer, which the client cuts.
	maxProgram = 256
)

// NameProgram has an answer, as JSON, name sm by its path where it asks the
// agent to run it. A path that a shell may not take for one plain word, or that
// is very long, is not written: the answer is then as it came.
func NameProgram(answer []byte, program string) []byte {
	if program == "" || len(program) > maxProgram || strings.Trim(program, plainPath) != "" {
		return answer
	}
	return []byte(wording.NameProgram(string(answer), program))
}
