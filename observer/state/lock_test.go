package state

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecondStart(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir)
	_, err := Open(dir, quiet(), testNow())
	if err == nil {
		t.Fatal("a directory in use is opened")
	}
	want := fmt.Sprintf(
		"state directory %s is in use by the observer with pid %d; stop it, or choose another with --state",
		dir,
		os.Getpid(),
	)
	if got := err.Error(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	s.Close()
	mustOpen(t, dir)
}

// TestDeadHolder tests that the pid left by a kill is not used.
func TestDeadHolder(t *testing.T) {
	for name, content := range map[string]string{
		"dead": "4194305\n", "empty": "", "garbage": strings.Repeat(
			"x",
			100,
		), "ours": fmt.Sprintln(os.Getpid()), "negative": "-1\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			noErrors(t, os.WriteFile(filepath.Join(dir, lockName), []byte(content), 0o600))
			s := mustOpen(t, dir)
			_, err := Open(dir, quiet(), testNow())
			if err == nil ||
				!strings.Contains(err.Error(), fmt.Sprint(" pid ", os.Getpid())) {
				t.Errorf("got %v, want an error with our pid", err)
			}
			s.Close()
		})
	}
}

// TestNamelessHolder tests that a process that holds the lock without writing its pid is not
// named, and not waited for long.
func TestNamelessHolder(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, lockName))
	noErrors(t, err)
	defer f.Close()
	noErrors(t, flock(f))
	_, err = Open(dir, quiet(), testNow())
	want := fmt.Sprintf(
		"state directory %s is in use by another observer; stop it, or choose another with --state",
		dir,
	)
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestCheckNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", lockName, FileName} {
		dir := filepath.Join(t.TempDir(), "sm")
		s := mustOpen(t, dir)
		want := ""
		if name != "" {
			want = filepath.Join(dir, name) + " was removed or replaced; restart the observer"
			noErrors(t, os.Remove(filepath.Join(dir, name)))
		}
		got := ""
		if err := s.CheckNames(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q removed: got %q, want %q", name, got, want)
		}
	}
}
