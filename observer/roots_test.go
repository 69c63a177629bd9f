package observer

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestElsewhere tests that the transcripts of a client with another configuration folder are
// followed from its first hook on, with its registry, its subagents and its next sessions,
// also after a restart. What it did before the state directory was created does not count.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	r := newWatched(t)
	real, err := filepath.EvalSymlinks(r.dir)
	noErrors(t, err)
	config := filepath.Join(real, "elsewhere")
	path := func(n int) string {
		return filepath.Join(
			config,
			"projects",
			"-home-dev-api",
			uuid(n)+".jsonl",
		)
	}
	appendLines(
		t,
		path(1),
		reply(ago(time.Hour), "m1", 40_000, 10),
		boundary(ago(time.Hour), "b1", "auto", 167_000),
		reply(ago(time.Hour), "m2", 30_000, 10),
	)
	appendLines(
		t,
		filepath.Join(
			config,
			"projects",
			"-home-dev-api",
			uuid(1),
			"subagents",
			"agent-a1.jsonl",
		),
		reply(ago(time.Hour), "s1", 5000, 10),
	)
	appendLines(t, path(2), reply(ago(time.Hour), "n1", 20_000, 10))
	r.start()
	fire := func(session int, event string) {
		t.Helper()
		if a := r.ask(http.MethodPost, "/hooks/claude", fmt.Sprintf(`{"session_id":%q,"transcript_path":%q,"hook_event_name":%q,"sm":{"agent":"em"}}`,
			uuid(session), path(session), event)); a.Code != http.StatusNoContent {
			t.Fatal(a.Code, a.Body)
		}
	}
	has := func(what, series string) {
		t.Helper()
		r.until(
			what+": "+series,
			func() bool { return strings.Contains(r.get("/metrics").Body, series+"\n") },
		)
	}
	fire(1, "UserPromptSubmit")
	has("history", `agent_session_transcript_compactions{session="em",trigger="auto"} 1`)
	has("history", `agent_session_compactions_total{session="em",trigger="auto"} 0`)
	has("history", `agent_compactions_total{client="claude",trigger="auto"} 0`)
	appendLines(t, path(1), boundary(ago(0), "b2", "manual", 90_000))
	has("/compact", `agent_compactions_total{client="claude",trigger="manual"} 1`)
	has("/compact", `agent_session_compactions_total{session="em",trigger="manual"} 1`)
	appendLines(t, filepath.Join(config, "sessions", "77.json"), fmt.Sprintf(
		`{"pid":%d,"sessionId":%q,"procStart":"test 77","status":"waiting"}`,
		os.Getpid(),
		uuid(1),
	))
	r.until("its registry", func() bool {
		return strings.Contains(
			r.ask(http.MethodGet, "/sessions/em", "").Body,
			`"state":"waiting"`,
		)
	})
	appendLines(
		t,
		path(3),
		reply(ago(0), "l1", 33_000, 10),
		boundary(ago(0), "b3", "auto", 170_000),
	)
	has(
		"a later session without hooks",
		`agent_compactions_total{client="claude",trigger="auto"} 1`,
	)
	r.stop()
	appendLines(t, path(3), boundary(ago(0), "b4", "auto", 171_000))
	r.start()
	has("after a restart", `agent_compactions_total{client="claude",trigger="auto"} 2`)
	appendLines(t, path(1), boundary(ago(0), "b5", "manual", 91_000))
	has(
		"after a restart, live",
		`agent_compactions_total{client="claude",trigger="manual"} 2`,
	)
	r.stop()

	noErrors(t, os.Rename(config, config+"-gone"))
	r.start()
	r.stop() // the folder is removed from the list
	noErrors(t, os.Rename(config+"-gone", config))
	appendLines(t, path(1), boundary(ago(0), "b6", "manual", 92_000))
	r.start()
	fire(1, "UserPromptSubmit")
	has("it came back", `agent_compactions_total{client="claude",trigger="manual"} 3`)
}
