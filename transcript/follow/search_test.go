package follow

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sm/transcript/claude"
)

// TestPause tests that a search of all folders takes at most half a thousandth of the time,
// unless that would delay the next one by more than 5 minutes.
func TestPause(t *testing.T) {
	for _, x := range []struct{ rescan, took, want time.Duration }{
		{30 * time.Second, 15 * time.Millisecond, 30 * time.Second},
		{30 * time.Second, 20 * time.Millisecond, 40 * time.Second},
		{30 * time.Second, time.Hour, 300 * time.Second},
		{time.Hour, 10 * time.Second, time.Hour},
	} {
		if got := pause(x.rescan, x.took); got != x.want {
			t.Errorf(
				"every %v, took %v: again after %v, want %v",
				x.rescan,
				x.took,
				got,
				x.want,
			)
		}
	}
}

// TestMissingInNewFolder tests that a file that was found before its folder was watched, and
// is gone when the folder is searched, is checked: no event will show it.
func TestMissingInNewFolder(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	f := &follower{index: newIndex(newWatcher(true, log), log)}
	root := t.TempDir()
	f.index.roots.add(Root{root, claude.Format()}, false)
	gone := f.index.enter(filepath.Join(root, "-p", idA+".jsonl"), claude.Format())
	noErrors(t, os.Mkdir(filepath.Dir(gone.cursor.Path), 0o700))
	f.appeared(filepath.Dir(gone.cursor.Path), fact{})
	if !slices.Contains(f.queue, gone) {
		t.Error("the file is not checked")
	}
}

func TestDepth(t *testing.T) {
	for _, tt := range []struct {
		root, dir string
		want      int
	}{
		{"/home/me", "/home/me", 0},
		{"/home/me", "/home/me/a", 1},
		{"/home/me", "/home/me/a/b", 2},
		{"/", "/", 0},
		{"/", "/a", 1},
		{"/", "/a/b", 2},
	} {
		if got := (followed{path: tt.root}).depth(tt.dir); got != tt.want {
			t.Errorf("%s in %s: %d, want %d", tt.dir, tt.root, got, tt.want)
		}
	}
}
