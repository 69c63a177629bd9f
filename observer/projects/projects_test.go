package projects

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript/clients/clientstest"
	"sm/transcript/codex"
)

const session = "00000000-0000-4000-8000-000000000001"

// write writes an empty transcript.
func write(t *testing.T, path string) {
	t.Helper()
	noErrors(t, os.MkdirAll(filepath.Dir(path), 0o700))
	noErrors(t, os.WriteFile(path, nil, 0o600))
}

func noErrors(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRoots tests that a folder is added once, by any of its names, and that the number of
// folders is limited.
func TestRoots(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	noErrors(t, err)
	made := func(config string) string {
		path := filepath.Join(dir, config, "projects", "-home-dev-web", session+".jsonl")
		write(t, path)
		return path
	}
	own := made("own")
	other := made("other")
	noErrors(t, os.Symlink(filepath.Join(dir, "own"), filepath.Join(dir, "own-link")))
	noErrors(t, os.Symlink(filepath.Join(dir, "other"), filepath.Join(dir, "other-link")))
	linked := func(path string) string {
		return strings.Replace(
			path,
			"/projects/",
			"-link/projects/",
			1,
		)
	}
	r, learnt := New(
		clientstest.Table(filepath.Join(dir, "own-link", "projects")),
		[]string{filepath.Join(dir, "nowhere", "projects"), "/etc"},
		slog.New(slog.DiscardHandler),
	)
	if d := cmp.Diff([2]int{0, 2}, [2]int{len(learnt), len(r.changed)}); d != "" {
		t.Errorf("stored (-want +got):\n%s", d)
	}
	var got []string
	for _, path := range []string{
		own,
		linked(own),
		other,
		other,
		linked(other),
		linked(other),
		"",
		filepath.Join(dir, "nowhere"),
	} {
		if root, fresh := r.Learn(path, session); fresh {
			got = append(got, root.Path)
		}
	}
	if d := cmp.Diff([]string{filepath.Join(dir, "other", "projects")}, got); d != "" {
		t.Errorf("learnt (-want +got):\n%s", d)
	}
	n := 1
	for i := range 2 * MaxLearnt {
		if _, fresh := r.Learn(made(fmt.Sprint("more", i)), session); fresh {
			n++
		}
	}
	if n != MaxLearnt {
		t.Errorf("%d folders were learnt, want %d", n, MaxLearnt)
	}
	if _, learnt := New(
		clientstest.Table(),
		slices.Clone(r.learnt),
		slog.New(slog.DiscardHandler),
	); len(learnt) != MaxLearnt {
		t.Errorf("%d of %d folders are remembered", len(learnt), len(r.learnt))
	}
}

// TestShortLivedRoots tests that removed folders make room for others, and that one that
// comes back is added again.
func TestShortLivedRoots(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	noErrors(t, err)
	r, _ := New(
		clientstest.Table(filepath.Join(dir, "own", "projects")),
		nil,
		slog.New(slog.DiscardHandler),
	)
	root := func(n int) string {
		return filepath.Join(
			dir,
			fmt.Sprint("config", n),
			"projects",
		)
	}
	hook := func(n int) (dropped int, fresh bool) {
		path := filepath.Join(root(n), "-home-dev-web", session+".jsonl")
		write(t, path)
		r.Take(func(string, bool) {})
		_, fresh = r.Learn(path, session)
		r.Take(func(_ string, remember bool) {
			if !remember {
				dropped++
			}
		})
		return dropped, fresh
	}
	for n := range MaxLearnt {
		hook(n)
	}
	if dropped, fresh := hook(MaxLearnt); dropped != 0 || fresh {
		t.Errorf("a full list: got %v, %d dropped", fresh, dropped)
	}
	const gone = 3
	for n := range gone {
		noErrors(t, os.RemoveAll(filepath.Dir(root(n))))
	}
	if dropped, fresh := hook(MaxLearnt); dropped != gone || !fresh {
		t.Errorf("with room again: fresh %v, dropped %d, want %d", fresh, dropped, gone)
	}
	if dropped, fresh := hook(0); dropped != 0 || !fresh {
		t.Errorf("come back: fresh %v, dropped %d", fresh, dropped)
	}
	if len(r.learnt) != MaxLearnt-1 || !r.has(filepath.Join(dir, "own", "projects")) {
		t.Errorf("%d learnt, want %d", len(r.learnt), MaxLearnt-1)
	}
}

// TestRootsOfCodex tests that another CODEX_HOME is added with its format, and known at the
// next start.
func TestRootsOfCodex(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	noErrors(t, err)
	root := filepath.Join(dir, "codex", "sessions")
	day := func(root string) string { return filepath.Join(root, "2026", "11", "22") }
	name := "rollout-2026-11-22T00-23-17-" + session + ".jsonl"
	write(t, filepath.Join(day(root), name))
	noErrors(t, os.Symlink(filepath.Join(dir, "codex"), filepath.Join(dir, "link")))
	r, _ := New(clientstest.Table(), nil, slog.New(slog.DiscardHandler))
	got, fresh := r.Learn(
		filepath.Join(day(filepath.Join(dir, "link", "sessions")), name),
		session,
	)
	if !fresh || got.Path != root || got.Format.Client != codex.Client {
		t.Fatalf("learnt %v, %+v", fresh, got)
	}
	for _, home := range []string{"codex", "link"} {
		path := filepath.Join(day(filepath.Join(dir, home, "sessions")), name)
		if _, fresh := r.Learn(path, session); fresh {
			t.Errorf("%s: learnt again", home)
		}
	}
	r, learnt := New(clientstest.Table(), []string{root}, slog.New(slog.DiscardHandler))
	if len(learnt) != 1 || len(r.changed) != 0 || learnt[0].Format.Client != codex.Client {
		t.Errorf("remembered %+v, changed %v", learnt, r.changed)
	}
	if _, learnt := New(
		clientstest.Table(root),
		[]string{root},
		slog.New(slog.DiscardHandler),
	); len(learnt) != 0 {
		t.Errorf("a configured folder is learnt: %+v", learnt)
	}
}
