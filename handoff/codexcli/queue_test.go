package codexcli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// standIn is a client whose command writes its arguments and part of its environment to
// files, and runs more commands.
func standIn(t *testing.T, more string) (home string) {
	t.Helper()
	dir := t.TempDir()
	home = filepath.Join(dir, "home")
	noError(t, os.Mkdir(home, 0o700))
	program := filepath.Join(dir, "codex")
	script := "#!/bin/sh\nfor a; do printf '%s\\0' \"$a\"; done >\"$CODEX_HOME/argv\"\nenv >\"$CODEX_HOME/env\"\n" + more + "\n"
	noError(t, os.WriteFile(program, []byte(script), 0o700))
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	t.Setenv("CODEX_HOME", "/elsewhere")
	t.Setenv("CODEX_THREAD_ID", "another")
	return home
}

// TestAdd tests that any text is one argument, and no shell reads it.
func TestAdd(t *testing.T) {
	home := standIn(t, "")
	const text = "[sm message] $(touch x) `touch y`; 'a' \"b\" \\ é --thread z\ttab #a1b2c3"
	placed, err := Add(t.Context(), home, 0, "thread-1", "a1b2c3", text)
	if !placed || err != nil {
		t.Fatal(placed, err)
	}
	argv, err := os.ReadFile(filepath.Join(home, "argv"))
	noError(t, err)
	want := []string{"queue", "--thread", "thread-1", "--message", text, ""}
	if diff := cmp.Diff(want, strings.Split(string(argv), "\x00")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	env, _ := os.ReadFile(filepath.Join(home, "env"))
	if !strings.Contains(string(env), "CODEX_HOME="+home+"\n") ||
		strings.Contains(string(env), "CODEX_THREAD_ID") {
		t.Errorf("the environment:\n%s", env)
	}
	for _, name := range []string{"x", "y"} {
		if _, err := os.Stat(filepath.Join(home, name)); err == nil {
			t.Error("a shell has read the text")
		}
	}
}

// TestAddLooks tests that a text that is in the queue, however large that is, or in the
// journal, is not added again, and that nothing is added if the queue cannot be read.
func TestAddLooks(t *testing.T) {
	holds := func(at int64) func(string) error {
		return func(path string) error {
			f, err := os.Create(path)
			if err == nil {
				_, err = f.WriteAt([]byte("\x00…[sm message] x #a1b2c3\"}]}\x00"), at)
			}
			return errors.Join(err, f.Close())
		}
	}
	for _, c := range []struct {
		name, file string
		put        func(path string) error
		placed     bool
	}{
		{"the queue", "queue_1.sqlite", holds(0), true},
		{"its journal", "queue_1.sqlite-wal", holds(0), true},
		{"of another version", "queue_12.sqlite", holds(0), true},
		{"behind 64 MiB", "queue_1.sqlite", holds(64<<20 + 5), true},
		{"a folder", "queue_1.sqlite", func(path string) error { return os.Mkdir(path, 0o700) }, false},
		{"a pipe", "queue_1.sqlite", func(path string) error { return syscall.Mkfifo(path, 0o600) }, false},
		{"a link to itself", "queue_1.sqlite", func(path string) error { return os.Symlink(path, path) }, false},
	} {
		home := standIn(t, "")
		noError(t, c.put(filepath.Join(home, c.file)))
		placed, err := Add(t.Context(), home, 0, "t", "a1b2c3", "[sm message] x #a1b2c3")
		_, idle := os.Stat(filepath.Join(home, "argv"))
		if placed != c.placed || (err == nil) != c.placed || idle == nil {
			t.Errorf("%s: %v, %v, the command ran: %v", c.name, placed, err, idle == nil)
		}
		placed, err = Add(t.Context(), home, 0, "t", "ffeedd", "[sm message] y #ffeedd")
		if placed != c.placed || (err == nil) != c.placed {
			t.Errorf("%s: another: %v, %v", c.name, placed, err)
		}
	}
}

// TestAddSaysNoText tests that text that the client quotes is not part of its error, which is
// logged.
func TestAddSaysNoText(t *testing.T) {
	const text = "[sm message] The password is swordfish. #a1b2c3"
	for _, words := range []string{
		text,
		`'` + text + `'`,
		`\"The password is swordfish.\"`,
		"password is swordf",
	} {
		home := standIn(
			t,
			"printf '%s\\n' \"error: cannot queue: $(cat \"$CODEX_HOME/words\"), thread t\" >&2; exit 2",
		)
		noError(t, os.WriteFile(filepath.Join(home, "words"), []byte(words), 0o600))
		_, err := Add(t.Context(), home, 0, "t", "a1b2c3", text)
		if err == nil || strings.Contains(err.Error(), "swordf") ||
			!strings.Contains(err.Error(), "error: cannot queue:") ||
			!strings.HasSuffix(err.Error(), ", thread t") {
			t.Errorf("%s: %v", words, err)
		}
	}
}

// TestAddRefused tests that a refused text counts as not placed, and the reason is one line.
func TestAddRefused(t *testing.T) {
	home := standIn(
		t,
		"echo WARNING: no aliases >&2; echo 'Error: no rollout found for thread id t' >&2; echo 'Stack backtrace:' >&2; exit 1",
	)
	placed, err := Add(t.Context(), home, 0, "t", "a1b2c3", "x #a1b2c3")
	if placed || err == nil ||
		!strings.HasSuffix(
			err.Error(),
			"exit status 1: Error: no rollout found for thread id t",
		) {
		t.Errorf("got %v, %v", placed, err)
	}
	t.Setenv("PATH", home)
	if placed, err := Add(
		t.Context(),
		home,
		0,
		"t",
		"a1b2c3",
		"x #a1b2c3",
	); placed || err == nil ||
		!strings.Contains(err.Error(), "put codex into the PATH") {
		t.Errorf("got %v, %v", placed, err)
	}
}

// TestProgram tests that the thread's own client is called, by the path of its process, or
// else the one in the PATH.
func TestProgram(t *testing.T) {
	home := standIn(t, "")
	found := filepath.Join(filepath.Dir(home), "codex")
	proc := filepath.Join(home, "proc")
	link := func(pid, to string) {
		noError(t, os.MkdirAll(filepath.Join(proc, pid), 0o700))
		noError(t, os.Symlink(to, filepath.Join(proc, pid, "exe")))
	}
	own := filepath.Join(home, "codex")
	noError(t, os.WriteFile(own, nil, 0o700))
	link("7", own)
	link("8", own+" (deleted)")
	link("9", "/bin/sh")
	for pid, want := range map[int]string{7: own, 8: found, 9: found, 10: found, 0: found} {
		if got, err := programOf(proc, pid); got != want || err != nil {
			t.Errorf("%d: %s, %v, want %s", pid, got, err, want)
		}
	}
}
