package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestSecondObserver: one state directory has one observer, and the second one names
// the first.
func TestSecondObserver(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.start()
	second := func() (string, int) {
		cmd := d.command(
			"observe",
			"--projects",
			d.projects,
			"--state",
			d.state(),
			"--listen",
			"127.0.0.1:0",
			"--socket",
			d.socket()+"2",
		)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		_ = cmd.Run() // the code tells
		return stderr.String(), cmd.ProcessState.ExitCode()
	}
	text, code := second()
	want := fmt.Sprintf(
		"sm: state directory %s is in use by the observer with pid %d; stop it, or choose another with --state\n",
		d.state(),
		d.cmd.Process.Pid,
	)
	if code != exitFailed || text != want {
		t.Errorf("exit code %d, %q; want %d, %q", code, text, exitFailed, want)
	}
	if _, err := d.get("/-/ready"); err != nil {
		t.Errorf("the first one: %v", err)
	}
	if _, err := os.Stat(d.socket() + "2"); err == nil {
		t.Error("the second one has left a socket")
	}
	d.kill() // the files of a dead one do not matter
	d.start()
}

// A signal that comes while the observer starts is obeyed like any other.
func TestSignalAtStart(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	for i := range 20 {
		d.launch()
		<-time.After(rand.N(40 * time.Millisecond))
		if code := d.end(syscall.SIGTERM); code > 0 { // below 0: it had not begun to listen to signals
			t.Fatalf("start %d: exit code %d", i, code)
		}
	}
	d.start()
	left, err := filepath.Glob(filepath.Join(d.state(), "*aside*"))
	if err != nil || len(left) > 0 {
		t.Errorf("state was set aside: %v, %v", left, err)
	}
}
