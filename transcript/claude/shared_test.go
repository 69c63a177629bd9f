package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

// foldFile folds a file that will not grow: a complete last line counts without its newline.
func foldFile(t *testing.T, path string) transcript.Session {
	t.Helper()
	b, err := os.ReadFile(path)
	noErrors(t, err)
	return foldBytes(b, filepath.Base(path))
}

func foldBytes(b []byte, name string) transcript.Session {
	f := NewFold(name, strings.HasPrefix(name, "agent-"))
	var e transcript.Entry
	for {
		line, rest, whole := bytes.Cut(b, []byte{'\n'})
		if !whole {
			s, _ := f.Peek(line)
			return s
		}
		f.Line(line, len(line)+1, &e)
		b = rest
	}
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	noErrors(t, err)
	noErrors(t, json.Unmarshal(b, v))
}

// figures are the expected figures of a transcript.
type figures struct {
	Context     *int64
	Compactions int
}

func figuresOf(s transcript.Session) figures {
	f := figures{Compactions: s.Total()}
	if n, ok := s.Context(); ok {
		f.Context = &n
	}
	return f
}

func TestShapes(t *testing.T) {
	const dir = "testdata/shapes"
	var want struct {
		Files map[string]struct {
			Compactions int
			Final       *int64 `json:"final_context"`
			Messages    *int   `json:"distinct_messages"`
			Output      *int64 `json:"output_tokens"`
		}
	}
	readJSON(t, filepath.Join(dir, "expected.json"), &want)
	for name, w := range want.Files {
		s := foldFile(t, filepath.Join(dir, name+".jsonl"))
		if d := cmp.Diff(figures{w.Final, w.Compactions}, figuresOf(s)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if w.Messages != nil && (*w.Messages != s.Messages || *w.Output != s.Tokens.Output) {
			t.Errorf(
				"%s: %d messages, output %d; want %d, %d",
				name,
				s.Messages,
				s.Tokens.Output,
				*w.Messages,
				*w.Output,
			)
		}
	}
}

func TestTranscripts(t *testing.T) {
	const dir = "testdata/transcripts"
	type tokens struct {
		Input         int64 `json:"input"`
		CacheCreation int64 `json:"cache_creation"`
		CacheRead     int64 `json:"cache_read"`
		Output        int64 `json:"output"`
	}
	type file struct {
		Context     *int64         `json:"context_tokens"`
		Peak        int64          `json:"peak_context_tokens"`
		Compactions map[string]int `json:"compactions"`
		Messages    int            `json:"messages"`
		Tokens      tokens         `json:"tokens"`
	}
	var want struct{ Files map[string]file }
	readJSON(t, filepath.Join(dir, "expected.json"), &want)
	for name, w := range want.Files {
		s := foldFile(t, filepath.Join(dir, name))
		got := file{
			figuresOf(s).Context,
			s.Peak,
			map[string]int{},
			s.Messages,
			tokens(s.Tokens),
		}
		for i, n := range s.Compactions {
			if n > 0 {
				got.Compactions[transcript.Trigger(i).String()] = n
			}
		}
		if d := cmp.Diff(w, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestCorpus reads public transcripts that are not part of the repository: SM_CORPUS names
// their folder.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("SM_CORPUS")
	if dir == "" {
		t.Skip("SM_CORPUS names no folder of public transcripts")
	}
	type file struct {
		Compactions []any
		Final       *int64 `json:"final_context"`
		Peak        int64  `json:"peak_context"`
		Bad         int64  `json:"bad_lines"`
		Messages    int    `json:"distinct_messages"`
	}
	var want map[string]file
	readJSON(t, filepath.Join(dir, "expected.json"), &want)
	for name, w := range want {
		s := foldFile(t, filepath.Join(dir, name))
		if d := cmp.Diff(figures{w.Final, len(w.Compactions)}, figuresOf(s)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if w.Peak != s.Peak || w.Bad != s.Bad || w.Messages != s.Messages {
			t.Errorf(
				"%s: peak %d, bad %d, messages %d; want %d, %d, %d",
				name,
				s.Peak,
				s.Bad,
				s.Messages,
				w.Peak,
				w.Bad,
				w.Messages,
			)
		}
	}
}

// TestContextAtEachLine tests the context and the compactions of a session after each line
// that changes them, in files with rewinds, cleared results, markers and timestamps out of
// order. The golden file was checked with a second implementation.
func TestContextAtEachLine(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for _, pattern := range []string{"rewind*", "cleared*", "marker*", "shapes/*"} {
		files, err := filepath.Glob("testdata/" + pattern + ".jsonl")
		if err != nil || len(files) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			noErrors(t, err)
			fmt.Fprintln(&got, name)
			f := NewFold(filepath.Base(name), false)
			last := ""
			n := 0
			for line := range bytes.Lines(data) {
				n++
				var e transcript.Entry
				f.Line(bytes.TrimSuffix(line, []byte{'\n'}), len(line), &e)
				s := &f.Session
				now := fmt.Sprintf("%d tokens, %d cleared, peak %d, %d compactions, rewound %t",
					known(s), s.Reading.Cleared, s.Peak, s.Total(), e.Rewound)
				if now != last {
					fmt.Fprintf(&got, "  line %d: %s\n", n, now)
				}
				last = now
			}
		}
	}
	checkGolden(t, "testdata/contexts.txt", got.String())
}

// checkGolden compares got with a golden file, which -update writes.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		noErrors(t, os.WriteFile(name, []byte(got), 0o600))
	}
	want, err := os.ReadFile(name)
	noErrors(t, err)
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

func noErrors(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
