package install

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// writeScript writes a program while no other test starts a process: a process that inherits
// the file open for writing would keep the system from running it.
func writeScript(path, text string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, []byte(text), 0o700)
}

// TestAskEndsWhatWasStarted tests that no child of a program that has timed out continues.
func TestAskEndsWhatWasStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := dir + "/fifo"
	script := dir + "/claude"
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// The background process holds the FIFO open until it ends, and writes to it unless it is
	// killed.
	text := fmt.Sprintf("#!/bin/sh\n(sleep 20; echo left) >%s 2>&1 &\nwait\n", fifo)
	if err := writeScript(script, text); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	said := make(chan string)
	go func() {
		line, _ := Ask(ctx, time.Minute, os.Environ(), script, "")
		said <- line
	}()
	f, err := os.Open(fifo) // returns when the background process has opened it
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cancel()
	if got := <-said; got != "" {
		t.Errorf("got output %q", got)
	}
	if got, err := io.ReadAll(f); err != nil || len(got) > 0 {
		t.Errorf("the process continued: %q, %v", got, err)
	}
}

// TestAskKeepsLittle tests that endless output fills no memory.
func TestAskKeepsLittle(t *testing.T) {
	t.Parallel()
	script := t.TempDir() + "/claude"
	if err := writeScript(
		script,
		"#!/bin/sh\nhead -c 100000 /dev/zero | tr '\\0' x\n",
	); err != nil {
		t.Fatal(err)
	}
	got, err := Ask(t.Context(), time.Minute, os.Environ(), script, "")
	if err != nil || got != strings.Repeat("x", maxProgramOutput) {
		t.Errorf("kept %d bytes, %v", len(got), err)
	}
}

// TestSmallBesideAnotherName tests that sm-hook is used only beside a program called sm,
// since hooks advise agents to call sm.
func TestSmallBesideAnotherName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := writeScript(dir+"/"+SmallName, "#!/bin/sh\necho v1\n"); err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]string{"sm": dir + "/" + SmallName, "watcher": ""} {
		if got, stale, err := Small(
			t.Context(),
			dir+"/"+program,
			"v1",
			os.Environ(),
		); got != want || stale != "" ||
			err != nil {
			t.Errorf("%s: %q, %q, %v", program, got, stale, err)
		}
	}
}
