package observer

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCodexCounters tests that with a folder of Codex its counters exist from the start, at
// 0, and count what its agents do, also across a restart.
func TestCodexCounters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := filepath.Join(t.TempDir(), "sessions")
	r.o.Clients[0].Dirs = []string{dir}
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
	check(
		"at first",
		map[string]string{
			"agent_compactions_total":         "0",
			"agent_compaction_attempts_total": "0",
			"agent_compaction_storms_total":   "0",
		},
	)
}
