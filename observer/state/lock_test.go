package state

import (
	"errors"
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
	if err := s.CheckLock(); err != nil {
		t.Errorf("the failed start has harmed the lock: %v", err)
	}
	s.Close()
	mustOpen(t, dir)
}

// A kill leaves a pid that says nothing any more.
func TestDeadHolder(t *testing.T) {
	for name, content := range map[string]string{
		"dead": "4194305\n", "empty": "", "garbage": strings.Repeat(
			"x",
			100,
		), "ours": fmt.Sprintln(os.Getpid()), "negative": "-1\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(
				filepath.Join(dir, lockName),
				[]byte(content),
				0o600,
			); err != nil {
				t.Fatal(err)
			}
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

// Whoever holds the lock without signing it is not named, and not waited for long.
func TestNamelessHolder(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := flock(f); err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir, quiet(), testNow())
	want := fmt.Sprintf(
		"state directory %s is in use by another observer; stop it, or choose another with --state",
		dir,
	)
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestCheckLock(t *testing.T) {
	for _, c := range []struct {
		name string
		harm func(dir string) error
		want string
	}{
		{"nothing", func(string) error { return nil }, ""},
		{
			"lock removed",
			func(d string) error { return os.Remove(filepath.Join(d, lockName)) },
			"lock was removed",
		},
		{"lock replaced", func(d string) error {
			return errors.Join(
				os.Remove(filepath.Join(d, lockName)),
				os.WriteFile(filepath.Join(d, lockName), nil, 0o600),
			)
		}, "lock was replaced"},
		{
			"file removed",
			func(d string) error { return os.Remove(filepath.Join(d, FileName)) },
			FileName + " was removed",
		},
		{
			"directory moved",
			func(d string) error { return os.Rename(d, d+".old") },
			"lock was removed",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "sm")
			s := mustOpen(t, dir)
			if err := c.harm(dir); err != nil {
				t.Fatal(err)
			}
			err := s.CheckLock()
			if c.want == "" && err != nil {
				t.Errorf("got %v, want nil", err)
			}
			if c.want != "" &&
				(err == nil || !strings.Contains(err.Error(), c.want) ||
					!strings.HasSuffix(err.Error(), "; restart the observer")) {
				t.Errorf("got %v, want …%s; restart the observer", err, c.want)
			}
		})
	}
}
