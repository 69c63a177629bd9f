package levels

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
)

// TestChanges: of each agent the newest level is written alone, files of others go, and what was taken comes once.
func TestChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := func() map[string]string {
		all := map[string]string{}
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			b, err := os.ReadFile(dir + "/" + e.Name())
			if err != nil {
				t.Fatal(err)
			}
			all[e.Name()] = string(b)
		}
		return all
	}
	write := func(c *Changes) {
		t.Helper()
		taken := 0
		for range 2 {
			c.Take(func(c *Changes) {
				taken++
				c.Write(dir, func(agent string, err error) { t.Errorf("%s: %v", agent, err) })
			})
		}
		if taken != 1 {
			t.Fatalf("taken %d times", taken)
		}
	}
	for _, agent := range []string{"a", "b", "c"} {
		if err := Write(dir, agent, "ok:1:2000"); err != nil {
			t.Fatal(err)
		}
	}
	var c Changes
	c.Take(func(*Changes) { t.Error("changes from the start") })
	c.Set(alerts.SetLevel{Agent: "d", Percent: 1, Tokens: 3000, Known: true})
	c.Set(alerts.SetLevel{Agent: "d", Percent: 2, Tokens: 4000, Known: true})
	c.Set(alerts.SetLevel{Agent: "b"})
	c.Keep(map[string]bool{"a": true, "b": true})
	write(&c)
	if d := cmp.Diff(map[string]string{"a": "ok:1:2000\n", "b": "ok::\n", "d": "ok:2:4000\n"}, files()); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	c.Set(alerts.SetLevel{Agent: "a"})
	c.Remove("a")
	write(&c)
	if d := cmp.Diff(map[string]string{"b": "ok::\n", "d": "ok:2:4000\n"}, files()); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
}

// TestWriteFails: what went wrong with a level file comes with its path.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, "a", "ok::"); !errors.Is(err, syscall.EISDIR) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
}

// TestPair: an agent's lines are written to two files in turn, but never to one that somebody has open, or that has got
// another name, mode or content than lines.
func TestPair(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "levels")
	path, spare := filepath.Join(folder, "a"), filepath.Join(dir, "levels.next", "a")
	write := func(line string) os.FileInfo {
		t.Helper()
		if err := Write(folder, "a", line); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if b, _ := os.ReadFile(path); err != nil || string(b) != line+"\n" || info.Mode() != 0o600 {
			t.Fatalf("%q in a file of mode %v, want %q: %v", b, info.Mode(), line, err)
		}
		return info
	}
	first := write("critical:100:1000000")
	if second := write("ok::"); os.SameFile(first, second) {
		t.Fatal("a file that may be read is written over")
	}
	if third := write("warn:52:104000"); runtime.GOOS == "linux" && !os.SameFile(first, third) {
		t.Skip("this file system lends no files out")
	}
	for what, keep := range map[string]func() (held func() string){
		"open": func() func() string {
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			return func() string {
				defer file.Close()
				b, _ := io.ReadAll(file)
				return string(b)
			}
		},
		"linked": func() func() string {
			other := filepath.Join(dir, "other")
			if err := os.Link(path, other); err != nil {
				t.Fatal(err)
			}
			return func() string {
				b, _ := os.ReadFile(other)
				return string(b)
			}
		},
		"of another mode": func() func() string {
			if err := os.Chmod(path, 0o644); err != nil {
				t.Fatal(err)
			}
			return func() string { return "ok:1:1000\n" } // for write looks at the mode
		},
		"a link": func() func() string {
			other := filepath.Join(dir, "target")
			if err := errors.Join(os.WriteFile(other, []byte("ok:1:1000\n"), 0o600), os.Remove(path), os.Symlink(other, path)); err != nil {
				t.Fatal(err)
			}
			return func() string {
				b, _ := os.ReadFile(other)
				return string(b)
			}
		},
	} {
		write("ok:1:1000")
		held := keep()
		for _, line := range []string{"ok:2:2000", "ok:3:3000", "ok:4:4000"} {
			write(line)
		}
		if got := held(); got != "ok:1:1000\n" {
			t.Errorf("%s: the old file has %q", what, got)
		}
	}
	Clean(folder)
	if _, err := os.Stat(spare); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was kept is not removed: %v", err)
	}
	write("ok:5:5000")
}

// TestWriteElsewhere: the folder may be a link to another file system, say one in memory, or a mount of one.
func TestWriteElsewhere(t *testing.T) {
	t.Parallel()
	there, err := os.MkdirTemp("/dev/shm", "levels")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(there)
	dir := filepath.Join(t.TempDir(), "levels")
	if err := os.Symlink(there, dir); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"ok:10:20000", "warn:52:104000", "ok::"} {
		if err := Write(dir, "a", line); err != nil {
			t.Fatal(err)
		}
		list, err := os.ReadDir(there)
		b, _ := os.ReadFile(filepath.Join(there, "a"))
		if err != nil || len(list) != 1 || string(b) != line+"\n" {
			t.Errorf("%q among %v, want %q: %v", b, list, line, err)
		}
	}
}
