package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const codexScenarios = "../../transcript/codex/testdata/transcripts"

// codexThread has the figures of one thread of the real client.
type codexThread struct {
	ID          string         `json:"thread_id"`
	Context     *int64         `json:"context_tokens_last"`
	Window      *int64         `json:"model_context_window"`
	PercentLeft *int           `json:"percent_left"`
	Compacted   int            `json:"compacted_records_own"`
	Requests    map[string]int `json:"compaction_requests_by_client_header"`
}

// TestScanCodex tests that Codex threads are scanned as sessions, with the figures that the
// client shows. A size that is only the client's estimate counts as unknown.
func TestScanCodex(t *testing.T) {
	names, err := filepath.Glob(codexScenarios + "/*/expected.json")
	if err != nil || len(names) != 33 {
		t.Fatalf("%d scenarios: %v", len(names), err)
	}
	got := map[string]scanned{}
	for _, s := range scanJSON(t, codexScenarios) {
		got[s.SessionID] = s
	}
	threads := 0
	estimates := 0
	for _, name := range names {
		var scenario struct{ Threads []codexThread }
		readJSONFile(t, name, &scenario)
		for _, want := range scenario.Threads {
			threads++
			s, known := got[want.ID]
			if !known || s.Client != "codex" {
				t.Errorf("%s: %s is missing, or of client %q", name, want.ID, s.Client)
				continue
			}
			if s.Context == nil && want.Context != nil {
				estimates++
				s.Context = want.Context
			}
			have := codexThread{
				ID:        s.SessionID,
				Context:   s.Context,
				Compacted: s.Compactions.Auto + s.Compactions.Manual + s.Compactions.Unknown + s.Inherited,
				Requests:  want.Requests,
			}
			if s.Used != nil {
				left := 100 - *s.Used
				have.PercentLeft = &left
				have.Window = &s.Window
			}
			if d := cmp.Diff(want, have); d != "" {
				t.Errorf("%s (-want +got):\n%s", name, d)
			}
			if n := want.Requests; len(n) > 0 &&
				(s.Compactions.Auto != n["auto"] || s.Compactions.Manual != n["manual"]) {
				t.Errorf("%s: got %+v, want %v", name, s.Compactions, n)
			}
		}
	}
	if threads != len(got) || threads != 52 || estimates != 1 {
		t.Errorf(
			"got %d threads in %d sessions, %d of them with only an estimate",
			threads,
			len(got),
			estimates,
		)
	}
}

// TestScanCodexPaths tests that a file is read under any name, compressed or not, and that a
// folder may contain transcripts of both clients.
func TestScanCodexPaths(t *testing.T) {
	dir := t.TempDir()
	day := filepath.Join(codexScenarios, "compressed/sessions/2026/11/22")
	copyTo := func(name, to string) string {
		t.Helper()
		path := filepath.Join(dir, to)
		writeFile(t, path, readFile(t, filepath.Join(day, name)))
		return path
	}
	const plain, packed = "rollout-2026-11-22T00-39-12-01a200b1-5830-7682-9191-0cdc4e0019dc.jsonl", "rollout-2026-11-22T00-39-13-01a200b1-5cd6-7722-b3ac-e0f81bca585a.jsonl.zst"
	renamed := copyTo(plain, "copy.jsonl")
	zipped := copyTo(packed, packed)
	for path, want := range map[string]string{
		renamed: "01a200b1-5830-7682-9191-0cdc4e0019dc",
		zipped:  "01a200b1-5cd6-7722-b3ac-e0f81bca585a",
	} {
		if s := scanJSON(
			t,
			path,
		)[path]; s.SessionID != want || s.Client != "codex" ||
			s.Context == nil {
			t.Errorf("%s: %+v", path, s)
		}
	}
	const id = "11111111-1111-4111-8111-111111111111"
	own := filepath.Join(dir, id+".jsonl")
	writeFile(t, own, []byte(`{"type":"assistant","uuid":"a","timestamp":"2026-01-02T08:00:00Z","message":{"id":"m","usage":{"input_tokens":7}}}`+"\n"))
	noErrors(t, os.Remove(renamed))
	clients := map[string]string{}
	for path, s := range scanJSON(t, dir) {
		clients[path] = s.Client
	}
	if d := cmp.Diff(map[string]string{own: "claude", zipped: "codex"}, clients); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
