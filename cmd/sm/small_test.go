package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sm/deploy/install"
)

// TestSmallHandsOver tests that sm-hook runs sm for all other commands; without sm it prints
// one line of error.
func TestSmallHandsOver(t *testing.T) {
	t.Parallel()
	path := smallPath(t)
	home := t.TempDir()
	run := func(name string, args ...string) (out string, code int) {
		t.Helper()
		cmd := exec.CommandContext(
			t.Context(),
			filepath.Join(filepath.Dir(hookPaths(path)[0]), name),
			args...,
		)
		cmd.Env = []string{quickRace, "PATH=" + path, "HOME=" + home}
		var both bytes.Buffer
		cmd.Stdout = &both
		cmd.Stderr = &both
		_ = cmd.Run() // the exit code is checked
		return both.String(), cmd.ProcessState.ExitCode()
	}
	for _, args := range [][]string{
		{"hook", "--help"},
		{"statusline", "-h"},
		{"version"},
		{"--version"},
		{"check-config"},
		{"nonsense"},
		{},
	} {
		want, wantCode := run("sm", args...)
		if got, code := run(install.SmallName, args...); got != want || code != wantCode {
			t.Errorf(
				"%q: exit code %d, want %d: %s\nwant: %s",
				args,
				code,
				wantCode,
				got,
				want,
			)
		}
	}
	whole := filepath.Join(filepath.Dir(hookPaths(path)[0]), "sm")
	alone := func(when string) {
		t.Helper()
		if got, code := run(
			install.SmallName,
			"status",
		); code != 1 || !strings.HasPrefix(got, "sm-hook: no sm beside it: ") ||
			strings.Count(got, "\n") != 1 {
			t.Errorf("%s: exit code %d, %s", when, code, got)
		}
		if got, code := run(install.SmallName, "hook", "--help"); got != "" || code != 0 {
			t.Errorf("%s, a hook: exit code %d, %s", when, code, got)
		}
	}
	noErrors(t, os.Remove(whole))
	alone("without sm")
}
