package observer

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCodexCounters: where there is a folder of Codex its counters are there from the start, at 0, and what its agents do is
// counted as its own, over a restart too.
func TestCodexCounters(t *testing.T) {
	r := newRig(t)
	dir := filepath.Join(t.TempDir(), "sessions")
	r.o.CodexDirs = []string{dir}
	r.start()
	counters := regexp.MustCompile(`(?m)^(agent_compactions_total|agent_compaction_attempts_total|agent_compaction_storms_total)\{client="codex"(?:,trigger="auto")?\} (\d+)$`)
	got := func() map[string]string {
		all := map[string]string{}
		for _, m := range counters.FindAllStringSubmatch(r.get("/metrics").Body, -1) {
			all[m[1]] = m[2]
		}
		return all
	}
	check := func(when string, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, got()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	check("without Codex", map[string]string{})
	noErrors(t, os.MkdirAll(dir, 0o700))
	check("at first", map[string]string{"agent_compactions_total": "0", "agent_compaction_attempts_total": "0", "agent_compaction_storms_total": "0"})
	for _, body := range []string{`{"id":"cx","provider":"codex"}`, `{"id":"cl"}`} {
		if a := r.ask(http.MethodPost, "/sessions", body); a.Code != http.StatusCreated {
			t.Fatalf("%d %s", a.Code, a.Body)
		}
	}
	for _, id := range []string{"cx", "cl"} {
		r.ask(http.MethodPost, "/hooks/context-usage", `{"session_id":"`+id+`","event":"compaction","trigger":"auto"}`)
		r.ask(http.MethodPost, "/hooks/context-usage", `{"session_id":"`+id+`","event":"compaction_complete"}`)
	}
	want := map[string]string{"agent_compactions_total": "0", "agent_compaction_attempts_total": "1", "agent_compaction_storms_total": "0"}
	check("after an attempt", want)
	if text := r.get("/metrics").Body; !regexp.MustCompile(`(?m)^agent_compaction_attempts_total\{client="claude",trigger="auto"\} 1$`).MatchString(text) {
		t.Error("the attempt of the other client is not counted as its own")
	}
	r.stop()
	r.start()
	check("after a restart", want)
}
