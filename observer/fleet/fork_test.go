package fleet

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
	"sm/transcript/codex"
)

// TestForkReadInParts tests that a fork's copied compactions are inherited, however its file
// is split when it is read.
func TestForkReadInParts(t *testing.T) {
	t.Parallel()
	pattern := filepath.Join("..", "..", "transcript", "codex", "testdata", "transcripts", "old-0.145.0-tui-rollback-fork",
		"sessions", "2026", "11", "22", "*.jsonl")
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) != 3 {
		t.Fatalf("%d files, %v", len(paths), err)
	}

	for _, size := range []int{1, 7, 1 << 20} {
		f := settled()
		for _, path := range paths {
			text, err := os.ReadFile(path)
			noErrors(t, err)
			name := filepath.Base(path[:len(path)-len(".jsonl")])
			fold := codex.NewFold(transcript.File{Name: name})
			for part := range slices.Chunk(slices.Collect(bytes.Lines(text)), size) {
				f.Apply(readPart(t, fold, path, part))
			}
		}

		got := map[string][2]int{}
		for _, v := range f.Views(created.Add(time.Hour)) {
			got[v.SessionID[:18]] = [2]int{
				v.Compactions[transcript.Manual],
				v.Inherited[transcript.Manual],
			}
		}
		want := map[string][2]int{
			"01a200b1-5aeb-7820": {1, 0},
			"01a200b1-9e64-74a2": {0, 1},
			"01a200b1-bb29-7540": {0, 1},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("parts of %d lines, own and inherited (-want +got):\n%s", size, d)
		}
	}
}

func readPart(t *testing.T, fold *codex.Fold, path string, lines [][]byte) transcript.Change {
	c := transcript.Change{Name: fold.Sum().ID}
	for _, line := range lines {
		var e transcript.Entry
		fresh, err := fold.Line(bytes.TrimSuffix(line, []byte("\n")), len(line), &e)
		noErrors(t, err)
		if fresh {
			c.Entries = append(c.Entries, e)
		}
	}
	c.Session = *fold.Sum()
	c.Name = c.Session.ID
	c.Cursor = transcript.Cursor{Path: path, Offset: c.Session.Bytes, Size: c.Session.Bytes}
	c.News = fold.Take()
	return c
}
