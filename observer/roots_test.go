package observer

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestElsewhere: the transcripts of a client whose configuration lies elsewhere are
// followed from its first hook on, with its registry, its subagents and its next sessions,
// also after a restart. What it did before the state directory was made counts nowhere.
func TestElsewhere(t *testing.T) {
	r := newWatched(t)
	real, err := filepath.EvalSymlinks(r.dir)
	noErrors(t, err)
	config := filepath.Join(real, "elsewhere")
	path := func(n int) string { return filepath.Join(config, "projects", "-home-dev-api", uuid(n)+".jsonl") }
	appendLines(t, path(1), reply(ago(time.Hour), "m1", 40_000, 10), boundary(ago(time.Hour), "b1", "auto", 167_000), reply(ago(time.Hour), "m2", 30_000, 10))
	appendLines(t, filepath.Join(config, "projects", "-home-dev-api", uuid(1), "subagents", "agent-a1.jsonl"), reply(ago(time.Hour), "s1", 5000, 10))
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
		r.until(what+": "+series, func() bool { return strings.Contains(r.get("/metrics").Body, series+"\n") })
	}
	fire(1, "UserPromptSubmit")
	has("history", `agent_session_transcript_compactions{session="em",trigger="auto"} 1`)
	has("history", `agent_session_compactions_total{session="em",trigger="auto"} 0`)
	has("history", `agent_compactions_total{client="claude",trigger="auto"} 0`)
	appendLines(t, path(1), boundary(ago(0), "b2", "manual", 90_000))
	has("/compact", `agent_compactions_total{client="claude",trigger="manual"} 1`)
	has("/compact", `agent_session_compactions_total{session="em",trigger="manual"} 1`)
	noErrors(t, os.MkdirAll(filepath.Join(config, "sessions"), 0o700))
	noErrors(t, os.WriteFile(filepath.Join(config, "sessions", "77.json"),
		fmt.Appendf(nil, `{"pid":%d,"sessionId":%q,"procStart":"test 77","status":"waiting"}`, os.Getpid(), uuid(1)), 0o600))
	r.until("its registry", func() bool {
		return strings.Contains(r.ask(http.MethodGet, "/sessions/em", "").Body, `"state":"waiting"`)
	})
	appendLines(t, path(3), reply(ago(0), "l1", 33_000, 10), boundary(ago(0), "b3", "auto", 170_000))
	has("a later session without hooks", `agent_compactions_total{client="claude",trigger="auto"} 1`)
	r.stop()
	appendLines(t, path(3), boundary(ago(0), "b4", "auto", 171_000))
	r.start()
	has("after a restart", `agent_compactions_total{client="claude",trigger="auto"} 2`)
	appendLines(t, path(1), boundary(ago(0), "b5", "manual", 91_000))
	has("after a restart, live", `agent_compactions_total{client="claude",trigger="manual"} 2`)
	r.stop()

	noErrors(t, os.Rename(config, config+"-gone"))
	r.start()
	r.stop() // the folder is forgotten
	noErrors(t, os.Rename(config+"-gone", config))
	appendLines(t, path(1), boundary(ago(0), "b6", "manual", 92_000))
	r.start()
	fire(1, "UserPromptSubmit")
	has("it came back", `agent_compactions_total{client="claude",trigger="manual"} 3`)
}

// TestRoots: a folder is learnt once, by whatever name, and no more than there is room for.
func TestRoots(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	noErrors(t, err)
	write := func(config string) string {
		path := filepath.Join(dir, config, "projects", "-home-dev-web", uuid(1)+".jsonl")
		appendLines(t, path, reply(ago(0), "m1", 1000, 10))
		return path
	}
	own, other := write("own"), write("other")
	noErrors(t, os.Symlink(filepath.Join(dir, "own"), filepath.Join(dir, "own-link")))
	noErrors(t, os.Symlink(filepath.Join(dir, "other"), filepath.Join(dir, "other-link")))
	linked := func(path string) string { return strings.Replace(path, "/projects/", "-link/projects/", 1) }
	r, learnt, forgotten := newRoots([]string{filepath.Join(dir, "own-link", "projects")}, []string{filepath.Join(dir, "nowhere", "projects"), "/etc"}, newRig(t).o.Logger)
	if d := cmp.Diff([2]int{0, 2}, [2]int{len(learnt), len(forgotten)}); d != "" {
		t.Errorf("stored (-want +got):\n%s", d)
	}
	var got []string
	for _, path := range []string{own, linked(own), other, other, linked(other), linked(other), "", filepath.Join(dir, "nowhere")} {
		if root, _, fresh := r.elsewhere(path, uuid(1)); fresh {
			got = append(got, root)
		}
	}
	if d := cmp.Diff([]string{filepath.Join(dir, "other", "projects")}, got); d != "" {
		t.Errorf("learnt (-want +got):\n%s", d)
	}
	n := 1
	for i := range 2 * maxLearnt {
		if _, _, fresh := r.elsewhere(write(fmt.Sprint("more", i)), uuid(1)); fresh {
			n++
		}
	}
	if n != maxLearnt {
		t.Errorf("%d folders were learnt, want %d", n, maxLearnt)
	}
	if _, learnt, _ := newRoots(nil, slices.Clone(r.real), newRig(t).o.Logger); len(learnt) != maxLearnt {
		t.Errorf("%d of %d folders are remembered", len(learnt), len(r.real))
	}
}

// TestShortLivedRoots: folders that are gone make room for others, and one that comes back is
// learnt again.
func TestShortLivedRoots(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	noErrors(t, err)
	r, _, _ := newRoots([]string{filepath.Join(dir, "own", "projects")}, nil, newRig(t).o.Logger)
	root := func(n int) string { return filepath.Join(dir, fmt.Sprint("config", n), "projects") }
	hook := func(n int) (dropped int, fresh bool) {
		path := filepath.Join(root(n), "-home-dev-web", uuid(1)+".jsonl")
		appendLines(t, path, reply(ago(0), "m1", 1000, 10))
		_, gone, fresh := r.elsewhere(path, uuid(1))
		return len(gone), fresh
	}
	for n := range maxLearnt {
		hook(n)
	}
	if dropped, fresh := hook(maxLearnt); dropped != 0 || fresh {
		t.Errorf("a full list takes one more: %v, %d dropped", fresh, dropped)
	}
	const gone = 3
	for n := range gone {
		noErrors(t, os.RemoveAll(filepath.Dir(root(n))))
	}
	if dropped, fresh := hook(maxLearnt); dropped != gone || !fresh {
		t.Errorf("with room again: fresh %v, dropped %d, want %d", fresh, dropped, gone)
	}
	if dropped, fresh := hook(0); dropped != 0 || !fresh {
		t.Errorf("come back: fresh %v, dropped %d", fresh, dropped)
	}
	if want := 1 + maxLearnt - 1; len(r.real) != want || r.learnt != maxLearnt-1 || r.real[0] != filepath.Join(dir, "own", "projects") {
		t.Errorf("%d folders, %d learnt, want %d", len(r.real), r.learnt, want)
	}
}
