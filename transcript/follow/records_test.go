package follow

import (
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/transcripttest"
)

// TestRecords tests that Once passes each record that it would list, and the /clear that a
// session began with, and that the changes are the same except for the lists.
func TestRecords(t *testing.T) {
	dir := t.TempDir()
	if _, err := transcripttest.Generate(dir, transcripttest.Options{
		Seed:     77,
		Sessions: 10,
		Traps:    true,
		Copies:   true,
	}); err != nil {
		t.Fatal(err)
	}
	once := func(o Options) map[string]transcript.Change {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
		out := make(chan transcript.Change)
		all := map[string]transcript.Change{}
		done := make(chan error, 1)
		go func() {
			defer close(out)
			done <- Once(t.Context(), o, []Root{{dir, claude.Format()}}, out)
		}()
		for c := range out {
			all[filepath.Base(c.Cursor.Path)] = c
		}
		noErrors(t, <-done)
		return all
	}
	var mu sync.Mutex
	reported := map[string][]transcript.Entry{}
	clears := 0
	got := once(Options{Records: func(path string) func(*transcript.Entry) {
		name := filepath.Base(path)
		return func(e *transcript.Entry) {
			mu.Lock()
			defer mu.Unlock()
			if e.Kind == transcript.KindAside && !e.Rewound {
				if clears++; e.Text != "/clear" {
					t.Errorf("got a record without a meaning: %q", e.Text)
				}
				return
			}
			reported[name] = append(reported[name], plain(*e, &transcript.Session{Version: string(e.Version)}))
		}
	}})
	want := once(Options{Entries: true})
	for name, c := range want {
		if d := cmp.Diff(c.Entries, reported[name]); d != "" {
			t.Errorf("%s (-listed +passed):\n%s", name, d)
		}
		if n := len(got[name].Entries) + len(got[name].Messages); n > 0 {
			t.Errorf("%s: got %d listed, want none", name, n)
		}
		c.Entries = nil
		c.Messages = nil
		if d := cmp.Diff(c, got[name]); d != "" {
			t.Errorf("%s (-with lists +without):\n%s", name, d)
		}
	}
	if clears == 0 || len(reported) < 10 {
		t.Errorf("got %d files, %d clears: too few for this test", len(reported), clears)
	}
}
