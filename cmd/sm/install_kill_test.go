package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// killedRun runs sm and kills it at the nth call of a system call; killed is false if there
// were fewer.
func (r *installRig) killedRun(call string, n int, args ...string) (killed bool) {
	r.t.Helper()
	cmd := exec.Command("strace", append([]string{
		"-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call,
		"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n), "sm",
	}, args...)...)
	cmd.Env = []string{
		quickRace,
		"HOME=" + r.home,
		"PATH=" + r.home + "/path:" + os.Getenv("PATH"),
		oneThread + "=1",
	}
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if status, is := exit.Sys().(syscall.WaitStatus); !ok || !is || !status.Signaled() ||
		status.Signal() != syscall.SIGKILL {
		r.t.Fatalf("%s %d: %v: %s", call, n, err, out)
	}
	return true
}

// TestInstallKilledAnywhere tests that an installation or removal that is killed at any call
// that changes a file is completed by the next one, and that both leave nothing behind.
func TestInstallKilledAnywhere(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	if !canTrace() {
		t.Skip("needs strace and the right to trace")
	}
	for name, shape := range map[string]string{
		"settings":    "{\n  \"hooks\": { }\n}\n",
		"no settings": "",
	} {
		t.Run(name, func(t *testing.T) {
			kills := 0
			for _, call := range []string{
				"mkdirat",
				"write",
				"fchmod",
				"fsync",
				"renameat",
				"unlinkat",
			} {
				for _, undo := range []bool{false, true} {
					for n := 1; ; n++ {
						r := newInstallRig(t)
						if shape != "" {
							r.write(r.path, shape, 0o600)
						}
						before := r.tree()
						args := []string{"install", "--guard"}
						if undo {
							r.done(args...)
							args = []string{"uninstall"}
						}
						killed := r.killedRun(call, n, args...)
						text, err := os.ReadFile(r.path)
						if err != nil && !errors.Is(err, fs.ErrNotExist) ||
							err == nil && string(text) != shape &&
								strings.Count(string(text), " hook\"") != 9 {
							t.Errorf("%s %d: half written: %s, %v", call, n, text, err)
						}
						if !undo {
							r.done(args...)
							r.noTemporaries(fmt.Sprintf("%s %d: installed again", call, n))
						}
						r.done("uninstall")
						r.checkTree(
							fmt.Sprintf("%s %d of %q: uninstalled", call, n, args),
							before,
						)
						if !killed || t.Failed() {
							break
						}
						kills++
					}
				}
			}
			if kills < 20 {
				t.Errorf(
					"killed %d times: strace does not do as this test means it to",
					kills,
				)
			}
			t.Logf("killed %d times", kills)
		})
	}
}

// noTemporaries checks that a killed run has left no temporary files.
func (r *installRig) noTemporaries(when string) {
	r.t.Helper()
	for name := range r.tree() {
		if strings.HasSuffix(name, ".new") {
			r.t.Errorf("%s: %s is left", when, name)
		}
	}
}

func canTrace() bool {
	return exec.Command(
		"strace",
		"-D",
		"-f",
		"-qq",
		"-o",
		"/dev/null",
		"-e",
		"trace=fsync",
		"true",
	).Run() == nil
}
