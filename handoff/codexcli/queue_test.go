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

// standIn is a client whose command writes its arguments and what it sees of
// its environment into files, and does what more is asked of it.
func standIn(t *testing.T, more string) (home string) {
	t.Helper()
	dir := t.TempDir()
	home = filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "codex")
	script := "#!/bin/sh\nfor a; do printf '%s\\0' \"$a\"; done >\"$CODEX_HOME/argv\"\nenv >\"$CODEX_HOME/env\"\n" + more + "\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	t.Setenv("CODEX_HOME", "/elsewhere")
	t.Setenv("CODEX_THREAD_ID", "another")
	return home
}

// TestAdd: the text is one argument, whatever it holds, and no shell sees it.
func TestAdd(t *testing.T) {
	home := standIn(t, "")
	const text = "[sm message] $(touch x) `touch y`; 'a' \"b\" \\ é --thread z\ttab #a1b2c3"
	placed, err := Add(t.Context(), home, 0, "thread-1", "a1b2c3", text)
	if !placed || err != nil {
		t.Fatal(placed, err)
	}
	argv, err := os.ReadFile(filepath.Join(home, "argv"))
	if err != nil {
		t.Fatal(err)
	}
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

// TestAddOnce: a text that lies in the queue, or in the journal, is not put there again.
func TestAddOnce(t *testing.T) {
	for _, name := range []string{"queue_1.sqlite", "queue_1.sqlite-wal", "queue_12.sqlite"} {
		home := standIn(t, "")
		if err := os.WriteFile(
			filepath.Join(home, name),
			[]byte("\x00…[sm message] x #a1b2c3\"}]}\x00"),
			0o600,
		); err != nil {
			t.Fatal(err)
		}
		placed, err := Add(t.Context(), home, 0, "t", "a1b2c3", "[sm message] x #a1b2c3")
		if _, ran := os.Stat(filepath.Join(
			home,
			"argv",
		)); !placed || err != nil ||
			ran == nil {
			t.Errorf("%s: %v, %v, the command ran: %v", name, placed, err, ran == nil)
		}
		if placed, err := Add(
			t.Context(),
			home,
			0,
			"t",
			"ffeedd",
			"[sm message] y #ffeedd",
		); !placed ||
			err != nil {
			t.Errorf("%s: another: %v, %v", name, placed, err)
		}
	}
}

// TestAddOnceInLargeQueue: however large the queue is, all of it is looked at.
func TestAddOnceInLargeQueue(t *testing.T) {
	for name, at := range map[string]int64{
		"behind 64 MiB": 64<<20 + 5,
		"at the begin":  0,
	} {
		home := standIn(t, "")
		f, err := os.Create(filepath.Join(home, "queue_1.sqlite"))
		if err == nil {
			_, err = f.WriteAt([]byte("#a1b2c3"), at)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		placed, err := Add(t.Context(), home, 0, "t", "a1b2c3", "x #a1b2c3")
		if _, ran := os.Stat(filepath.Join(
			home,
			"argv",
		)); !placed || err != nil ||
			ran == nil {
			t.Errorf("%s: %v, %v, the command ran: %v", name, placed, err, ran == nil)
		}
	}
}

// TestAddBlind: where the queue cannot be looked into, nothing is put there.
func TestAddBlind(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"a folder":         func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":           func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link to itself": func(path string) error { return os.Symlink(path, path) },
	} {
		home := standIn(t, "")
		if err := spoil(filepath.Join(home, "queue_1.sqlite")); err != nil {
			t.Fatal(err)
		}
		placed, err := Add(t.Context(), home, 0, "t", "a1b2c3", "x #a1b2c3")
		if _, ran := os.Stat(filepath.Join(
			home,
			"argv",
		)); placed || err == nil ||
			ran == nil {
			t.Errorf("%s: %v, %v, the command ran: %v", name, placed, err, ran == nil)
		}
	}
}

// TestAddSaysNoText: what the client quotes of the text does not come into its
// error, which is logged.
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
		if err := os.WriteFile(
			filepath.Join(home, "words"),
			[]byte(words),
			0o600,
		); err != nil {
			t.Fatal(err)
		}
		_, err := Add(t.Context(), home, 0, "t", "a1b2c3", text)
		if err == nil || strings.Contains(err.Error(), "swordf") ||
			!strings.Contains(err.Error(), "error: cannot queue:") ||
			!strings.HasSuffix(err.Error(), ", thread t") {
			t.Errorf("%s: %v", words, err)
		}
	}
}

// TestAddRefused: what the client refuses has not been placed, and its reason is one line.
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
		t.Errorf("%v, %v", placed, err)
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
		t.Errorf("%v, %v", placed, err)
	}
}

// TestProgram: the thread's own client is asked, by the path of its process;
// else the one in the PATH.
func TestProgram(t *testing.T) {
	home := standIn(t, "")
	found := filepath.Join(filepath.Dir(home), "codex")
	proc := filepath.Join(home, "proc")
	link := func(pid, to string) {
		if err := os.MkdirAll(filepath.Join(proc, pid), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(proc, pid, "exe")); err != nil {
			t.Fatal(err)
		}
	}
	own := filepath.Join(home, "codex")
	if err := os.WriteFile(own, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	link("7", own)
	link("8", own+" (deleted)")
	link("9", "/bin/sh")
	for pid, want := range map[int]string{7: own, 8: found, 9: found, 10: found, 0: found} {
		if got, err := programOf(proc, pid); got != want || err != nil {
			t.Errorf("%d: %s, %v, want %s", pid, got, err, want)
		}
	}
}
