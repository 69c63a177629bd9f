package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTimersLate: the timers of each thread of an observer may be a millisecond late, that of the runtime's monitor too. In
// lists of processes it keeps the name by which it was called.
func TestTimersLate(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	program, err := exec.LookPath("sm")
	file, link := filepath.Join(d.dir, "sm-of-today"), filepath.Join(d.dir, "sm")
	if err := errors.Join(err, os.Link(program, file), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	d.as = []string{link}
	d.start()
	if name, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(d.cmd.Process.Pid), "comm")); string(name) != "sm\n" {
		t.Errorf("it is called %q, %v", name, err)
	}
	for thread, late := range slacks(t, d) {
		if late != strconv.Itoa(timerSlack) {
			t.Errorf("thread %s: %s ns", thread, late)
		}
	}
}

// TestStartsAnewOnce: an observer that has started anew does not do so again, whatever its timers are.
func TestStartsAnewOnce(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	d.vars = append(d.vars, startedAnew+"=1")
	d.start()
	own, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0) // what a child has
	if err != nil {
		t.Fatal(err)
	}
	for thread, late := range slacks(t, d) {
		if late != strconv.Itoa(own) {
			t.Errorf("thread %s: %s ns, want %d", thread, late, own)
		}
	}
}

// slacks are how late the timers of an observer's threads may be, in nanoseconds.
func slacks(t *testing.T, d *daemon) map[string]string {
	t.Helper()
	all := map[string]string{}
	threads, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(d.cmd.Process.Pid), "task"))
	if err != nil || len(threads) < 2 {
		t.Fatal(len(threads), err)
	}
	for _, thread := range threads {
		late, err := os.ReadFile(filepath.Join("/proc", thread.Name(), "timerslack_ns"))
		if errors.Is(err, fs.ErrPermission) {
			t.Skip("to read the timer slack of others takes CAP_SYS_NICE")
		}
		if err == nil {
			all[thread.Name()] = strings.TrimSpace(string(late))
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	return all
}
