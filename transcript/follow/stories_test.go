package follow

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/codex"
)

// codexName is the name of a file of idA's thread.
const codexName = "rollout-2026-11-20T08-00-00-" + idA + ".jsonl"

// reported is a transcript for the tests that cut it.
type reported struct {
	name   string
	format *transcript.Format
	text   []byte
	step   int // which offsets are tried
}

// stories are transcripts with everything that a fold keeps from line to line, of the real
// clients and, for Claude Code, one with all known shapes of records.
func stories(t *testing.T) (all []reported) {
	t.Helper()
	var shapes []byte
	for _, pattern := range []string{
		"*",
		"shapes/s0[34]*",
		"shapes/s0[89]*",
		"shapes/s1[0-7]*",
	} {
		shapes = slices.Concat(
			shapes,
			read(t, "../claude/testdata/"+pattern+".jsonl"),
			[]byte("not JSON\n\n \t \n[1]\n"),
		)
	}
	all = append(all, reported{
		name:   "claude",
		format: claude.Format(),
		text:   shapes,
		step:   13,
	})
	for _, scenario := range []string{
		"api-errors", "auto-compaction", "fork-of-fork", "manual-compact", "old-0.45.0-exec",
		"old-0.145.0-tui-rollback-fork", "rewind-then-compaction", "subagent",
	} {
		all = append(all, reported{
			name:   scenario,
			format: codex.Format(nil),
			text:   thread(t, scenario),
			step:   61,
		})
	}
	return all
}

// thread returns the content of the files of a scenario of Codex.
func thread(t *testing.T, scenario string) []byte {
	t.Helper()
	return read(t, "../codex/testdata/transcripts/"+scenario+"/sessions/*/*/*/*.jsonl")
}

// read returns the content of the files of a pattern.
func read(t *testing.T, pattern string) (text []byte) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v, %v", pattern, names, err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		noErrors(t, err)
		text = append(text, b...)
	}
	return text
}
