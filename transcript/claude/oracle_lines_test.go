package claude

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"sm/transcript"
	"sm/transcript/transcripttest"
)

// TestOracleAtEachLine: after each line of files whose conversations go back, whose stamps
// are out of order or whose contexts shrink, oracle and fold tell the same context.
func TestOracleAtEachLine(t *testing.T) {
	var files []string
	for _, pattern := range []string{"rewind*", "cleared*", "marker*", "shapes/*"} {
		more, err := filepath.Glob("testdata/" + pattern + ".jsonl")
		if err != nil || len(more) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		files = append(files, more...)
	}
	lines := 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f := NewFold(filepath.Base(name), false)
		for end := 0; end < len(data); {
			n := bytes.IndexByte(data[end:], '\n') + 1
			if n == 0 {
				break
			}
			f.Line(data[end:end+n-1], n, &transcript.Entry{})
			end += n
			lines++
			tokens, known := f.Session.Context()
			if truth := transcripttest.Oracle(data[:end]); known != truth.Known || known && tokens != truth.ContextTokens || f.Session.Total() != truth.Alone.Compactions.Total() {
				t.Fatalf("%s up to %d: %d tokens, known %v, %d compactions; the oracle %d, %v, %d", name, end, tokens, known, f.Session.Total(),
					truth.ContextTokens, truth.Known, truth.Alone.Compactions.Total())
			}
		}
	}
	if lines < 150 {
		t.Fatalf("%d lines", lines)
	}
}
