package transcripttest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
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

// TestGenerateIsDeterministic tests that equal options give equal files; the tests of the
// readers check the figures.
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
	_, files := generated(t, Options{Seed: 2, Bytes: size, Sessions: 20})
	total := 0
	for _, data := range files {
		total += len(data)
	}
	if total < size*8/10 || total > size*15/10 {
		t.Errorf("%d bytes, want about %d", total, size)
	}
}

// TestCopies makes each kind of copy with each version that has it.
func TestCopies(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, version := range versions() {
		s := NewSession(5, version)
		s.Prompt()
		s.Reply("tool")
		s.Compact(transcript.Auto)
		s.results()
		s.Reply()
		for _, kind := range s.copies() {
			found[kind] = true
			n := s.Copy(kind)
			n.Prompt()
			n.Reply()
			got := n.truth
			if got.ContextTokens != n.context || !got.Known {
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
		t.Errorf("got only %v", found)
	}
}
