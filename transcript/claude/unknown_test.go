package claude

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

func TestUnknownNames(t *testing.T) {
	lines := []string{
		`{"type":"new-record"}`,
		`{"type":"new-record"}`,
		`{"type":"system","subtype":"new_subtype"}`,
		message("r", at(1), "m1", `{"input_tokens":5,"new_tokens":1,"cache_creation":{"ephemeral_1d_input_tokens":1}}`),
		`{"type":"user","message":{"new":1},"new":1}`,
		`{"subtype":"new_subtype"}`,
	}
	f := folded(t, lines...)
	f.Peek([]byte(lines[0]))
	want := []transcript.UnknownName{
		{Kind: transcript.UnknownRecord, Name: "new-record", Count: 2},
		{Kind: transcript.UnknownSubtype, Name: "new_subtype", Count: 1},
		{Kind: transcript.UnknownUsage, Name: "new_tokens", Count: 1},
		{Kind: transcript.UnknownUsage, Name: "ephemeral_1d_input_tokens", Count: 1},
	}
	if d := cmp.Diff(want, f.Unknown()); d != "" {
		t.Errorf("unknown names (-want +got):\n%s", d)
	}
	if again := f.Unknown(); again != nil {
		t.Errorf("returned twice: %v", again)
	}
}

// TestKnownNames: transcripts that clients wrote hold no unknown name.
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
			if err != nil {
				t.Fatal(err)
			}
			for line := range bytes.Lines(text) {
				f.Line(line, len(line)+1, &transcript.Entry{})
			}
			if u := f.Unknown(); u != nil {
				t.Errorf("%s: %v", path, u)
			}
		}
	}
}
