package notify

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// TestCommand tests that the arguments reach the program unchanged, that the text is one line
// of its input, and that only one program runs at a time.
func TestCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// mkdir fails if another program is between mkdir and rmdir.
	c := &Command{Argv: []string{
		"/bin/sh", "-ec", `mkdir "$0/one"; printf '%s|' "$@" >"$0/argv"; cat >"$0/input"; rmdir "$0/one"`,
		dir, "$(touch x)", "a b",
	}}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := c.Notify(t.Context(), Notice{
				Text: "web: 90 %; `touch y`",
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for name, want := range map[string]string{
		"argv":  "$(touch x)|a b|",
		"input": "web: 90 %; `touch y`\n",
	} {
		if got, err := os.ReadFile(filepath.Join(
			dir,
			name,
		)); string(got) != want ||
			err != nil {
			t.Errorf("%s: got %q, want %q, %v", name, got, want, err)
		}
	}
	err := (&Command{Argv: []string{"/bin/sh", "-c", "exit 3"}}).Notify(t.Context(), Notice{})
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 {
		t.Errorf("a program that fails: %v", err)
	}
}

// TestRunEndsWithTheObserver tests that a command that hangs, and its child processes, are
// killed when the observer ends.
func TestRunEndsWithTheObserver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	// Both the shell and its child have the pipe open for writing: it ends when both have
	// ended.
	go func() {
		ended <- (&Command{Argv: []string{
			"/bin/sh",
			"-c",
			`exec 3>"$0"; echo up >&3; sleep 600 & wait`,
			pipe,
		}}).Notify(ctx, Notice{
			Text: "x",
		})
	}()
	f, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	up := make([]byte, 3)
	if _, err := f.Read(up); string(up) != "up\n" {
		t.Fatalf("got %q, %v", up, err)
	}
	stop()
	if n, err := f.Read(up); n > 0 || err == nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
	if err := <-ended; err == nil {
		t.Error("a killed command returned no error")
	}
}
