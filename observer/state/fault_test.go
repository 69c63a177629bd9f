package state

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sm/observer/fleet"
)

// fillUntil saves steps until they fail with the cause, checks that nothing is lost, makes
// room with relieve, and continues with the same store.
func fillUntil(dir string, cause error, relieve func() error) error {
	s, n, err := openSteps(dir)
	if err != nil {
		return err
	}
	save := func(n int) error {
		d, v := stepDelta(n)
		return s.Save(d, v, Value{fmt.Sprint("pad/", n), make([]byte, 30_000)})
	}
	// A retry may still find room: bbolt takes free pages as they become available.
	for failures := 0; failures < 3; {
		if err = save(n + 1); err == nil {
			failures = 0
			n++
			continue
		}
		failures++
		if !strings.Contains(err.Error(), cause.Error()) { // bbolt does not wrap all errors
			return fmt.Errorf("step %d failed by %w, not by %w", n+1, err, cause)
		}
		if err := checkSteps(s, n); err != nil {
			return err
		}
	}
	if err := relieve(); err != nil {
		return err
	}
	for range 5 {
		n++
		if err := save(n); err != nil {
			return fmt.Errorf("after relief: %w", err)
		}
	}
	if err := errors.Join(checkSteps(s, n), s.Close()); err != nil {
		return err
	}
	if s, _, err = openSteps(dir); err != nil {
		return err
	}
	return errors.Join(checkSteps(s, n), s.Close())
}

// limitChild may write only files of a certain size.
func limitChild(args []string) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	tight := limit
	tight.Cur = 3 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &tight); err != nil {
		return err
	}
	return fillUntil(
		args[0],
		syscall.EFBIG,
		func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit) },
	)
}

func TestFileSizeLimit(t *testing.T) {
	if _, err := output(
		t,
		childCommand(t, nil, "limit", filepath.Join(t.TempDir(), "sm")),
	); err != nil {
		t.Error(err)
	}
}

// fullChild fills a small file system, with a file in it that can be removed.
func fullChild(args []string) error {
	ballast := filepath.Join(args[0], "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		return err
	}
	return fillUntil(
		filepath.Join(args[0], "sm"),
		syscall.ENOSPC,
		func() error { return os.Remove(ballast) },
	)
}

func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	mount := []string{
		"unshare",
		"-r",
		"-m",
		"sh",
		"-c",
		`mount -t tmpfs -o size=3m none "$0" && exec "$@"`,
		dir,
	}
	if out, err := exec.Command(
		mount[0],
		append(mount[1:], "true")...,
	).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a file system: %v %s", err, out)
	}
	if _, err := output(t, childCommand(t, mount, "full", dir)); err != nil {
		t.Error(err)
	}
}

// TestReadOnlyDirectory tests a first start when nothing can be written.
func TestReadOnlyDirectory(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root writes everywhere")
	}
	dir := t.TempDir()
	noErrors(t, os.Chmod(dir, 0o500))
	testOpenError(t, dir, "permission denied")
}

// strace runs a child with a fault injected into one system call.
func strace(t *testing.T, call, fault string, when int) []string {
	t.Helper()
	trace := []string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call}
	if out, err := exec.Command(
		trace[0],
		append(trace[1:], "true")...,
	).CombinedOutput(); err != nil {
		t.Skipf("no strace: %v %s", err, out)
	}
	return append(trace, "-e", fmt.Sprintf("inject=%s:%s:when=%d", call, fault, when))
}

// faultSteps is the number of steps of a child under strace.
const faultSteps = 4

// TestFailingCalls makes each of the calls that write fail once. All acknowledged steps are
// stored, and the step that failed succeeds at the next attempt.
func TestFailingCalls(t *testing.T) {
	for _, c := range []struct {
		call, fault string
		times       int
	}{
		{"fdatasync", "error=EIO", 2*faultSteps + 4},
		{"pwrite64", "error=ENOSPC", 24},
		{"ftruncate", "error=ENOSPC", 2},
		{"fsync", "error=EIO", 4},
		{"renameat", "error=EIO", 1},
	} {
		t.Run(c.call, func(t *testing.T) {
			failures := 0
			renewals := 0
			for when := 1; when <= c.times; when += 1 + shortcut(3) {
				dir := filepath.Join(t.TempDir(), "sm")
				cmd := childCommand(
					t,
					strace(t, c.call, c.fault, when),
					"retry",
					dir,
					strconv.Itoa(faultSteps),
				)
				cmd.Stderr = nil // strace prints the faults there
				words, err := output(t, cmd)
				if err != nil {
					exit, _ := errors.AsType[*exec.ExitError](err)
					t.Fatalf("%s %d: %v %s", c.call, when, err, exit.Stderr)
				}
				failures += strings.Count(strings.Join(words, " "), "failed")
				if slices.Contains(words, "renewed") {
					renewals++
				}
				testSteps(t, dir, faultSteps, faultSteps)
			}
			t.Logf("%d failures, %d files rewritten", failures, renewals)
			if failures == 0 {
				t.Errorf("no %s has failed", c.call)
			}
			if c.call == "fdatasync" && renewals == 0 {
				t.Error("no file was rewritten")
			}
		})
	}
}

// shortcut returns the number of cases to leave out in short mode.
func shortcut(n int) int {
	if testing.Short() {
		return n
	}
	return 0
}

// TestKillAtCalls kills at each of the calls that write.
func TestKillAtCalls(t *testing.T) {
	for call, times := range map[string]int{
		"fdatasync": 10,
		"pwrite64":  24,
		"ftruncate": 2,
		"fsync":     3,
		"renameat":  1,
	} {
		t.Run(call, func(t *testing.T) {
			for when := 1; when <= times; when += 1 + shortcut(3) {
				dir := filepath.Join(t.TempDir(), "sm")
				words, err := output(
					t,
					childCommand(
						t,
						strace(t, call, "signal=KILL", when),
						"retry",
						dir,
						strconv.Itoa(faultSteps),
					),
				)
				acked := 0
				if err == nil {
					acked = faultSteps // there were fewer calls
				} else if len(words) > 0 {
					acked, _ = strconv.Atoi(words[len(words)-1])
				}
				testSteps(t, dir, acked, acked+1)
			}
		})
	}
}

func testSteps(t *testing.T, dir string, least, most int) {
	t.Helper()
	s, n, err := openSteps(dir)
	noErrors(t, err)
	defer s.Close()
	if n < least || n > most {
		t.Errorf("%d steps are stored, want %d to %d", n, least, most)
	}
	if err := checkSteps(s, n); err != nil {
		t.Error(err)
	}
	if names := setAsideFiles(t, dir); len(names) > 0 {
		t.Errorf("set aside: %q", names)
	}
	d, v := stepDelta(n + 1)
	mustSave(t, s, d, v)
	mustSave(t, s, fleet.Delta{})
}
