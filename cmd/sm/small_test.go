package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sm/deploy/install"
)

// small puts a program beside sm that says this version of itself, as sm-hook does, and where its sources are, as the
// toolchain does; "" for our version.
func (r *installRig) small(version string) (path string) {
	r.t.Helper()
	if version == "" {
		version = versionOf()
	}
	path = filepath.Join(filepath.Dir(r.program), install.SmallName)
	r.write(path, "#!/bin/sh\n[ \"$*\" = version ] && echo '"+version+"'\n# path\tsm/cmd/sm-hook\n", 0o700)
	return path
}

// TestSmallHandsOver: sm-hook runs sm for all else; without one it is one line of error.
func TestSmallHandsOver(t *testing.T) {
	t.Parallel()
	path := smallPath(t)
	home := t.TempDir()
	run := func(name string, args ...string) (out string, code int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(hookPaths(path)[0]), name), args...)
		cmd.Env = []string{quickRace, "PATH=" + path, "HOME=" + home}
		var both bytes.Buffer
		cmd.Stdout = &both
		cmd.Stderr = &both
		_ = cmd.Run() // its exit code tells
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
			t.Errorf("%q: exit code %d, want %d: %s\nwant: %s", args, code, wantCode, got, want)
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
	if err := os.Remove(whole); err != nil {
		t.Fatal(err)
	}
	alone("without sm")
}

// TestInstallForeignSmall: a program of others that is called sm-hook as well stays where it is, in whatever file, and is
// wrapped as a status line; one that was built from sm's sources is ours wherever it is, and so is one that is gone.
func TestInstallForeignSmall(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		place func(t *testing.T, r *installRig, path string)
		ours  bool
	}{
		"a script of others": {
			func(_ *testing.T, r *installRig, path string) { r.write(path, "#!/bin/sh\n", 0o700) },
			false,
		},
		"one that is gone": {func(*testing.T, *installRig, string) {}, true},
		"beside an old sm": {func(_ *testing.T, r *installRig, path string) {
			r.write(path, "", 0o700)
			r.write(r.home+"/x/sm", "", 0o700)
		}, true},
		"built from sm's code": {func(t *testing.T, r *installRig, path string) { link(t, self, path) }, true},
		"a link to ours":       {func(t *testing.T, r *installRig, path string) { link(t, r.small(""), path) }, true},
		"a link to others'": {func(t *testing.T, r *installRig, path string) {
			r.write(r.home+"/y/sm-hook", "", 0o700)
			link(t, r.home+"/y/sm-hook", path)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, codex := newCodexRig(t)
			path := r.home + "/x/sm-hook"
			tt.place(t, r, path)
			text := strings.ReplaceAll(
				`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "PATH hook"}]}]}`,
				"PATH",
				path,
			)
			r.write(codex, text+"}", 0o600)
			r.write(r.path, text+`, "statusLine": {"type": "command", "command": "`+path+` statusline"}}`, 0o600)
			before := r.tree()
			r.done("install")
			want := 3
			if tt.ours {
				want = 0
			}
			if text := r.read(r.path) + r.read(codex); strings.Count(text, path) != want {
				t.Errorf("it is not called %d times: %s", want, text)
			}
			r.done("uninstall")
			if !tt.ours {
				r.checkTree("after uninstall", before)
			} else if text := r.read(r.path) + r.read(codex); strings.Contains(text, "hook") {
				t.Errorf("after uninstall: %s", text)
			}
		})
	}
}

// link makes a symbolic link, and the folder that it is in.
func link(t *testing.T, to, path string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(to, path)); err != nil {
		t.Fatal(err)
	}
}
