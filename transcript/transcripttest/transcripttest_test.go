package transcripttest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// generated returns the figures and the files of a directory.
func generated(t *testing.T, o Options) (*Truth, map[string][]byte) {
	t.Helper()
	dir := t.TempDir()
	truth, err := Generate(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for path := range truth.Files {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		files[path] = data
	}
	return truth, files
}

// Whether the figures are right is for the tests of the readers.
func TestGenerateIsDeterministic(t *testing.T) {
	t.Parallel()
	o := Options{
		Seed:      3,
		Traps:     true,
		Copies:    true,
		Subagents: true,
	}
	truth, files := generated(t, o)
	sameTruth, sameFiles := generated(t, o)
	if d := cmp.Diff(truth, sameTruth); d != "" {
		t.Errorf("figures (-first +second):\n%s", d)
	}
	for path, data := range files {
		if !bytes.Equal(data, sameFiles[path]) {
			t.Errorf("%s differs", path)
		}
	}
}

func TestGenerateBytes(t *testing.T) {
	t.Parallel()
	const size = 16 << 20
	truth, files := generated(t, Options{Seed: 2, Bytes: size, Sessions: 20})
	total := 0
	for path, data := range files {
		total += len(data)
		if n := truth.Files[path].Bytes; n != int64(len(data)) {
			t.Errorf("%s: %d bytes, want %d", path, len(data), n)
		}
	}
	if total < size*8/10 || total > size*15/10 {
		t.Errorf("%d bytes, want about %d", total, size)
	}
}

// TestCopies makes each kind of copy with each version that has it.
func TestCopies(t *testing.T) {
	t.Parallel()
	found := map[CopyKind]bool{}
	for _, version := range Versions() {
		var origin bytes.Buffer
		s := NewSession(&origin, 5, SessionOptions{Version: version})
		s.Prompt("first")
		s.Reply(Reply{Tools: 1})
		s.Compact(Compaction{Trigger: Auto})
		s.ToolResult(Result{})
		s.Reply(Reply{Context: 40_000})
		for _, kind := range s.Copies() {
			found[kind] = true
			n := s.Copy(&bytes.Buffer{}, kind)
			n.Prompt("second")
			n.Reply(Reply{Context: 50_000})
			got := n.Truth()
			if got.ContextTokens != 50_000 || !got.Known || got.Origin != s.ID() {
				t.Errorf("%s %s: %+v", version, kind, got)
			}
			own := 0
			inherited := 1
			if kind == Continued {
				own = 1
				inherited = 0
			}
			if got.Compactions.Total() != own || got.Inherited != inherited {
				t.Errorf("%s %s: %+v", version, kind, got)
			}
		}
	}
	if len(found) != 7 {
		t.Errorf("only %v are made", found)
	}
}
