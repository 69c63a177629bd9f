package claude

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"sm/transcript"
)

// TestKnownNames tests that recorded transcripts contain no unknown name.
func TestKnownNames(t *testing.T) {
	for _, pattern := range []string{
		"testdata/transcripts/*/*.jsonl",
		"testdata/idle/*.jsonl",
		"testdata/rewind-*.jsonl",
	} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			f := NewFold("x", false)
			text, err := os.ReadFile(path)
			noErrors(t, err)
			for line := range bytes.Lines(text) {
				f.Line(line, len(line)+1, &transcript.Entry{})
			}
			if u := f.Take().Unknown; u != nil {
				t.Errorf("%s: %v", path, u)
			}
		}
	}
}
