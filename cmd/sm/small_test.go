package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// called counts the hooks and status lines that call a program.
func (r *installRig) called(program string) (n int) {
	for _, path := range []string{r.path, r.home + "/.codex/hooks.json"} {
		text := r.read(path)
		n += strings.Count(text, `"`+program+`"`) + strings.Count(text, `"`+program+" ")
	}
	return n
}

// smallHooks is how many calls an installation has: hooks of Claude Code, its status line, hooks of Codex.
func smallHooks() int { return 8 + 1 + len(install.CodexEvents()) }

// TestInstallSmall: hooks and status line call sm-hook where it stands beside sm in the same version, and sm itself elsewhere.
// An installation moves them; uninstall knows both, and gives back every byte.
func TestInstallSmall(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		place func(r *installRig)
		small bool
		note  string
	}{
		"beside sm":   {func(r *installRig) { r.small("") }, true, ""},
		"none":        {func(*installRig) {}, false, ""},
		"another one": {func(r *installRig) { r.small("sm v0.0.1 (go1.26.0)") }, false, "~/bin/sm-hook\" belongs to another version of sm"},
		"says nothing": {func(r *installRig) { r.write(r.small(""), "#!/bin/sh\nexit 1\n", 0o700) }, false,
			"~/bin/sm-hook\" belongs to another version of sm"},
		"no program": {func(r *installRig) { r.write(r.small(""), "", 0o600) }, false, ""},
		"sm by another name": {func(r *installRig) {
			r.small("")
			r.program = r.home + "/bin/watcher"
			r.write(r.program, "#!/bin/sh\n", 0o700)
		}, false, ""},
		"a folder":              {func(r *installRig) { r.write(r.home+"/bin/sm-hook/x", "", 0o600) }, false, ""},
		"elsewhere in the PATH": {func(r *installRig) { r.write(r.home+"/path/sm-hook", "#!/bin/sh\necho '"+versionOf()+"'\n", 0o700) }, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := newCodexRig(t)
			r.write(r.path, "{\n  \"statusLine\": {\"type\": \"command\", \"command\": \"mine\"}\n}\n", 0o600)
			tt.place(r)
			r.calledAs = r.program
			before := r.tree()
			want := map[string]int{r.program: smallHooks(), r.home + "/bin/sm-hook": 0}
			if tt.small {
				want = map[string]int{r.program: 0, r.home + "/bin/sm-hook": smallHooks()}
			}
			env := r.environ()
			if code := env.execute(t.Context(), []string{"install"}); code != 0 || strings.Contains(r.clean(env.Stderr), "another version") != (tt.note != "") ||
				!strings.Contains(r.clean(env.Stderr), tt.note) {
				t.Fatalf("exit code %d: %s", code, r.clean(env.Stderr))
			}
			got := map[string]int{r.program: r.called(r.program), r.home + "/bin/sm-hook": r.called(r.home + "/bin/sm-hook")}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s\n%s", diff, r.read(r.path))
			}
			if text := r.read(r.path); !strings.Contains(text, " statusline -- mine\"") {
				t.Errorf("the status line that was there is not wrapped: %s", text)
			}
			r.want(outcome{Out: unchangedLine + codexUnchangedLine}, "install")
			r.want(outcome{Out: codexUninstalledLine + uninstalledLine}, "uninstall")
			r.checkTree("after uninstall", before)
		})
	}
}

// TestInstallSmallMoves: what calls sm is moved to sm-hook when that comes, and back when it goes or is of another version, and
// nothing of ours is there twice.
func TestInstallSmallMoves(t *testing.T) {
	t.Parallel()
	r, _ := newCodexRig(t)
	r.write(r.path, "{\n  \"model\": \"opus\"\n}\n", 0o600)
	before := r.tree()
	both := func(ofSM, ofSmall int) {
		t.Helper()
		if got := [2]int{r.called(r.program), r.called(r.home + "/bin/sm-hook")}; got != [2]int{ofSM, ofSmall} {
			t.Errorf("calls of sm and sm-hook: %v, want %d and %d", got, ofSM, ofSmall)
		}
	}
	moved := outcome{Out: installedLine + codexInstalledLine}
	r.want(moved, "install")
	both(smallHooks(), 0)
	path := r.small("")
	r.want(moved, "install")
	both(0, smallHooks())
	r.small("sm v0.0.1")
	r.want(moved, "install")
	both(smallHooks(), 0)
	r.small("")
	r.done("install", "--guard")
	both(0, smallHooks()+1)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	r.done("uninstall") // by its name alone
	r.checkTree("after uninstall", before)
}

// TestInstallSmallSilent: of an sm-hook that does not answer in time nobody knows whether it is ours, so hooks stay as they are.
func TestInstallSmallSilent(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]string{"none yet": "", "of sm-hook": versionOf(), "of sm": "sm v0.0.1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := newCodexRig(t)
			if version != "" {
				r.small(version)
				r.done("install")
			}
			r.write(r.small(""), "#!/bin/sh\nkill -STOP $$\n", 0o700)
			before := r.tree()
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // in place of 10 s
			defer cancel()
			env := r.environ()
			if code := env.execute(ctx, []string{"install"}); code != 1 || !strings.Contains(r.clean(env.Stderr), "~/bin/sm-hook prints no version") {
				t.Errorf("exit code %d: %s", code, r.clean(env.Stderr))
			}
			r.checkTree("after the failure", before)
		})
	}
}

// TestPluginSmall: the plugin calls sm-hook too.
func TestPluginSmall(t *testing.T) {
	t.Parallel()
	r := newPluginRig(t)
	path := r.small("")
	if got := r.run("install", "--plugin"); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	hooks := r.read(r.dir + "/plugins/cache/copy/hooks/hooks.json")
	if n := strings.Count(hooks, `"`+path+`"`); n != len(install.HookEvents("", false)) || strings.Contains(hooks, `"`+r.program+`"`) {
		t.Errorf("%d of them: %s", n, hooks)
	}
}

// TestDoctorSmall: both programs are as good, but for an sm-hook of another version.
func TestDoctorSmall(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	fine := []finding{{"hooks", healthy, "installed for 8 events", ""}, {"status line", healthy, "ours", ""}}
	check := func(when string, want []finding) {
		t.Helper()
		if diff := cmp.Diff(want, c.findings("hooks", "status line")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	check("sm alone", fine)
	path := c.small("")
	check("not used yet", []finding{fine[0], {"hooks", noted, "they call ~/bin/sm, and sm-hook beside it starts faster", "run sm install"}, fine[1]})
	c.small("sm v0.0.1")
	check("another one, not used", fine)
	c.small("")
	c.want(outcome{Out: installedLine}, "install")
	check("used", fine)
	stale := finding{"hooks", noted, "they call ~/bin/sm-hook, which is \"sm v0.0.1\", and this is " + versionOf(),
		"put sm and sm-hook of one version there, for example with make install, and run sm install again"}
	c.small("sm v0.0.1")
	check("of another version", []finding{fine[0], stale, fine[1]})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	const remedy = "run sm install with an sm that stays where it is"
	check("gone", []finding{fine[0], {"hooks", broken, "they call ~/bin/sm-hook, which does not exist or is not executable", remedy},
		{"status line", broken, "it calls ~/bin/sm-hook, which does not exist or is not executable", remedy}})
	c.small("")
	if err := os.Remove(c.program); err != nil {
		t.Fatal(err)
	}
	check("alone", []finding{fine[0], {"hooks", broken, "they call ~/bin/sm-hook, which needs ~/bin/sm, which does not exist or is not executable",
		"put sm there, for example with make install, or run sm install with an sm that stays where it is"}, fine[1]})
}

// TestSmallHandsOver: whatever else sm-hook is asked, sm answers; and without an sm it is one line says so.
func TestSmallHandsOver(t *testing.T) {
	t.Parallel()
	path, home := smallPath(t), t.TempDir()
	run := func(name string, args ...string) (out string, code int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(hookPaths(path)[0]), name), args...)
		cmd.Env = []string{quickRace, "PATH=" + path, "HOME=" + home}
		var both bytes.Buffer
		cmd.Stdout, cmd.Stderr = &both, &both
		_ = cmd.Run() // its exit code tells
		return both.String(), cmd.ProcessState.ExitCode()
	}
	for _, args := range [][]string{{"hook", "--help"}, {"statusline", "-h"}, {"version"}, {"--version"}, {"check-config"}, {"nonsense"}, {}} {
		want, wantCode := run("sm", args...)
		if got, code := run(install.SmallName, args...); got != want || code != wantCode {
			t.Errorf("%q: exit code %d, want %d: %s\nwant: %s", args, code, wantCode, got, want)
		}
	}
	whole := filepath.Join(filepath.Dir(hookPaths(path)[0]), "sm")
	alone := func(when string) {
		t.Helper()
		if got, code := run(install.SmallName, "status"); code != 1 || !strings.HasPrefix(got, "sm-hook: no sm beside it: ") || strings.Count(got, "\n") != 1 {
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
		"a script of others": {func(_ *testing.T, r *installRig, path string) { r.write(path, "#!/bin/sh\n", 0o700) }, false},
		"one that is gone":   {func(*testing.T, *installRig, string) {}, true},
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
			text := strings.ReplaceAll(`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "PATH hook"}]}]}`, "PATH", path)
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
