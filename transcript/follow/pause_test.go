package follow

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"sm/transcript/claude"
)

// TestPause: a search of all folders takes at most a percent of the time, and a hundredth of that where inotify reports
// every change, unless that would put off the next one for longer than 5 minutes.
func TestPause(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, x := range []struct {
		rescan, took time.Duration
		told         bool
		want         time.Duration
	}{
		{30 * s, 0, false, 30 * s},
		{30 * s, 300 * ms, false, 30 * s},
		{30 * s, 400 * ms, false, 40 * s},
		{30 * s, 2 * s, false, 200 * s},
		{30 * s, 3 * s, false, 300 * s},
		{30 * s, time.Hour, false, 300 * s},
		{time.Hour, 10 * s, false, time.Hour},
		{30 * s, 0, true, 30 * s},
		{30 * s, 3 * ms, true, 30 * s},
		{30 * s, 4 * ms, true, 40 * s},
		{30 * s, 40 * ms, true, 300 * s},
		{time.Hour, 10 * s, true, time.Hour},
	} {
		if got := pause(x.rescan, x.took, x.told); got != x.want {
			t.Errorf("every %v, took %v, told %v: again after %v, want %v", x.rescan, x.took, x.told, got, x.want)
		}
	}
}

// TestTold: a search reports whether inotify reports every change in its folders: not in a file system that others may
// write too, nor behind links, nor for a file that is written by another name.
func TestTold(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("inotify is Linux's own")
	}
	plain := filepath.Join(t.TempDir(), "plain")
	linked := filepath.Join(t.TempDir(), "linked")
	named := filepath.Join(t.TempDir(), "named")
	for _, err := range []error{
		os.Mkdir(
			named,
			0o700,
		), os.WriteFile(
			filepath.Join(named, idA+".jsonl"),
			nil,
			0o600,
		), os.Link(
			filepath.Join(named, idA+".jsonl"),
			named+"-twice",
		),
		os.MkdirAll(
			filepath.Join(plain, "-p"),
			0o700,
		), os.Mkdir(
			linked,
			0o700,
		), os.Symlink(
			filepath.Join(plain, "-p"),
			filepath.Join(linked, "-p"),
		),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.Open(plain)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, x := range []struct {
		name  string
		roots []string
		want  bool
	}{
		{"a folder of folders", []string{plain}, tellsAll(dir)}, // temporary files may lie on any file system
		{"with a link", []string{linked}, false},
		{"with a file that has another name", []string{named}, false},
		{"of the kernel", []string{"/proc/self/fdinfo"}, false},
		{"and then another", []string{"/proc/self/fdinfo", plain}, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := searching(x.roots...)
			for range 2 {
				if f.findAll(false); f.index.told != x.want {
					t.Errorf("told: %v, want %v", f.index.told, x.want)
				}
			}
		})
	}
}

// TestLostEventsWhereAllIsTold: where inotify reports every change a search is put off, but not after lost events.
func TestLostEventsWhereAllIsTold(t *testing.T) {
	f := searching(t.TempDir())
	f.index.watch.notify = &fsnotify.Watcher{} // looked at alone, for no folder is searched that is not there
	if err := os.Remove(f.index.roots.all[0].path); err != nil {
		t.Fatal(err)
	}
	f.took, f.lastAll, f.index.told = time.Second, time.Now().Add(-time.Minute), true
	f.Rescan = 30 * time.Second
	for _, x := range []struct {
		lost, told bool
		want       int32
	}{{false, true, 0}, {true, true, 1}, {false, true, 1}} {
		if f.sweep(x.lost); f.index.round != x.want {
			t.Errorf("lost %v: %d searches, want %d", x.lost, f.index.round, x.want)
		}
	}
	f.lastAll = time.Now().Add(-time.Minute)
	f.took = time.Millisecond
	f.index.told = false
	if f.sweep(false); f.index.round != 2 {
		t.Error("where inotify does not tell of every change the search is put off")
	}
}

// searching is a follower of roots that only searches.
func searching(roots ...string) *follower {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	f := &follower{index: newIndex(newWatcher(true, log), log, 0), live: map[*file]struct{}{}}
	f.Stats = &Stats{}
	f.Check = time.Second
	for _, root := range Roots(claude.Format(), roots...) {
		f.index.roots.add(root, false)
	}
	f.clients = registries{roots: &f.index.roots, watch: f.index.watch}
	return f
}
