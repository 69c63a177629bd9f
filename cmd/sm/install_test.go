package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// installRig is a home with settings in it, and a program to install.
type installRig struct {
	t                 *testing.T
	home, dir, path   string
	program, calledAs string
	vars              map[string]string
}

func newInstallRig(t *testing.T) *installRig {
	t.Helper()
	home, err := os.MkdirTemp("", "sm-") // not t.TempDir: a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	if home, err = filepath.EvalSymlinks(home); err != nil {
		t.Fatal(err)
	}
	r := &installRig{t: t, home: home, dir: home + "/.claude", path: home + "/.claude/settings.json", program: home + "/bin/sm"}
	r.calledAs = r.program
	r.vars = map[string]string{"HOME": home, "PATH": home + "/path", "TMPDIR": home + "/tmp"}
	r.write(r.program, "#!/bin/sh\n", 0o700)
	r.client("2.1.330")
	return r
}

// client puts a client of this version into the PATH.
func (r *installRig) client(version string) {
	r.t.Helper()
	r.write(r.home+"/path/claude", "#!/bin/sh\necho '"+version+" (Claude Code)'\n", 0o700)
}

// write makes a file. No process is started meanwhile by a test beside this one: it would have the file open for writing
// too, and then the system refuses to run it.
func (r *installRig) write(path, text string, mode fs.FileMode) {
	r.t.Helper()
	syscall.ForkLock.RLock()
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode))
	syscall.ForkLock.RUnlock()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *installRig) read(path string) string {
	r.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

// environ is the process of a command that is run here.
func (r *installRig) environ() *environ {
	env := testEnv(r.vars)
	env.Executable = func() (string, error) { return r.program, nil }
	env.CalledAs = r.calledAs
	return env
}

// clean is what was written to a stream, with ~ for the home.
func (r *installRig) clean(stream any) string {
	return strings.ReplaceAll(stream.(*bytes.Buffer).String(), r.home, "~")
}

// notes are what an installation ends with.
var notes = regexp.MustCompile(`(?m)^sm: note: .*\n`)

func (r *installRig) run(args ...string) outcome {
	env := r.environ()
	code := env.execute(r.t.Context(), args)
	says := notes.ReplaceAllString(r.clean(env.Stderr), "") // TestInstallNotes is for those
	return outcome{code, r.clean(env.Stdout), says}
}

func (r *installRig) want(want outcome, args ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.run(args...)); diff != "" {
		r.t.Errorf("sm %q (-want +got):\n%s", args, diff)
	}
}

const (
	installedLine   = "~/.claude/settings.json: installed: new sessions report to the observer\n"
	uninstalledLine = "~/.claude/settings.json: uninstalled\n"
	unchangedLine   = "~/.claude/settings.json: nothing to change\n"
	assumedLine     = "sm: no client in the PATH or running says its version, and no transcript does: writing for 2.1.139 and later\n"
)

func TestInstallFiles(t *testing.T) {
	t.Parallel()
	var megabyte strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&megabyte, "  \"key %d\": [%d.0, \"%s\"],\n", i, i, strings.Repeat("v", 32))
	}
	large := "{\n" + megabyte.String() + "  \"last\": null\n}"
	for _, tt := range []struct {
		name, before, after string
		mode                fs.FileMode
	}{
		{"as the client writes it", "{\n  \"model\": \"opus\"\n}\n", "{\n  \"model\": \"opus\"\n}\n", 0o644},
		{"private", "{\"a\":1}", "{\"a\":1}", 0o600},
		{"empty", "", "", 0o600},
		{"blank", "\n", "\n", 0o640},
		{"an empty object", "{}", "{}", 0o600},
		{"marked", "\uFEFF{\"a\":1}\r\n", "\uFEFF{\"a\":1}\r\n", 0o600},
		{"large", large, large, 0o600},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && len(tt.before) > 1<<20 {
				t.Skip("a megabyte takes the race detector a minute")
			}
			r := newInstallRig(t)
			r.write(r.path, tt.before, tt.mode)
			if got := r.run("install", "--dry-run"); got.Code != 0 || !strings.HasPrefix(got.Out, "--- ~/.claude/settings.json\n+++ ") || r.read(r.path) != tt.before {
				t.Errorf("dry run: %d %.300s%s", got.Code, got.Out, got.ErrOut)
			}
			r.want(outcome{Out: installedLine}, "install")
			r.want(outcome{Out: unchangedLine}, "install")
			if text := r.read(r.path); strings.Count(text, r.program) != 9 {
				t.Errorf("settings: %.3000s", text)
			}
			r.want(outcome{Out: uninstalledLine}, "uninstall")
			r.want(outcome{Out: unchangedLine}, "uninstall")
			if diff := cmp.Diff(tt.after, r.read(r.path)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if info, err := os.Stat(r.path); err != nil || info.Mode().Perm() != tt.mode {
				t.Errorf("mode %v, error %v", info.Mode(), err)
			}
			if entries, err := os.ReadDir(r.dir); err != nil || len(entries) != 1 {
				t.Errorf("left behind: %v, %v", entries, err)
			}
		})
	}
}

func TestInstallWhereNothingIs(t *testing.T) {
	t.Parallel()
	r := newInstallRig(t)
	r.want(outcome{Out: unchangedLine}, "uninstall")
	if got := r.run("install", "--dry-run"); got.Code != 0 || !strings.Contains(got.Out, "@@ -0,0 +1,") {
		t.Errorf("dry run: %+v", got)
	}
	if _, err := os.Stat(r.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the dry run made the directory: %v", err)
	}
	r.want(outcome{Out: installedLine}, "install")
	for path, want := range map[string]fs.FileMode{r.dir: fs.ModeDir | 0o700, r.path: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, want %v", path, info.Mode(), want)
		}
	}
	r.want(outcome{Out: uninstalledLine}, "uninstall")
	r.checkTree("after uninstall", map[string]string{"bin/sm": "#!/bin/sh\n", "path/claude": r.read(r.home + "/path/claude")})
}

// What cannot be edited without doubt is refused, and stays as it is.
func TestInstallRefusesFiles(t *testing.T) {
	t.Parallel()
	fails := func(text string) outcome { return outcome{1, "", "sm: ~/.claude/" + text + "\n"} }
	for _, tt := range []struct {
		name, text string
		mode       fs.FileMode
		want       outcome
	}{
		{"comments", "{\n  // mine\n  \"a\": 1\n}\n", 0o600, fails("settings.json: line 2: a comment, which JSON does not have; correct the file, it is untouched")},
		{"broken", "{\"a\": 1,}", 0o600, fails("settings.json: line 1: invalid character '}' looking for beginning of object key string; correct the file, it is untouched")},
		{"cut", "{\"a\": 1", 0o600, fails("settings.json: line 1: unexpected end of JSON input; correct the file, it is untouched")},
		{"a key twice", "{\"hooks\": {},\n\"hooks\": {}}", 0o600, fails("settings.json: line 2: \"hooks\" is there twice in one object; correct the file, it is untouched")},
		{"a list", "[]", 0o600, fails("settings.json: the settings are not a JSON object; correct the file, it is untouched")},
		{"another status line", `{"statusLine":{"type":"other"}}`, 0o600, fails("settings.json: line 1: statusLine has no command; correct or remove it")},
		{"read-only", "{}", 0o400, fails("settings.json is read-only; run chmod u+w ~/.claude/settings.json")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newInstallRig(t)
			r.write(r.path, tt.text, tt.mode)
			before, err := os.Stat(r.path)
			if err != nil {
				t.Fatal(err)
			}
			r.want(tt.want, "install")
			after, err := os.Stat(r.path)
			if got := r.read(r.path); got != tt.text || err != nil || !os.SameFile(before, after) || after.Mode() != before.Mode() {
				t.Errorf("it became %q, %v", got, after)
			}
		})
	}
}

func TestInstallOddPlaces(t *testing.T) {
	t.Parallel()
	fails := func(text string) outcome { return outcome{1, "", "sm: " + text + "\n"} }
	t.Run("a directory", func(t *testing.T) {
		r := newInstallRig(t)
		r.write(r.path+"/x", "", 0o600)
		r.want(fails("~/.claude/settings.json is not a file; move it away"), "install")
	})
	t.Run("a pipe", func(t *testing.T) {
		r := newInstallRig(t)
		if err := errors.Join(os.Mkdir(r.dir, 0o700), syscall.Mkfifo(r.path, 0o600)); err != nil {
			t.Fatal(err)
		}
		r.want(fails("~/.claude/settings.json is not a file; move it away"), "install")
	})
	t.Run("a read-only directory", func(t *testing.T) {
		r := newInstallRig(t)
		r.write(r.path, "{}", 0o600)
		if err := os.Chmod(r.dir, 0o500); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(r.dir, 0o700)
		r.want(fails("the directory ~/.claude is read-only; make it writable, or set CLAUDE_CONFIG_DIR"), "install")
	})
	t.Run("a link", func(t *testing.T) {
		r := newInstallRig(t)
		target := r.home + "/dotfiles/claude.json"
		r.write(target, "{}\n", 0o644)
		if err := errors.Join(os.Mkdir(r.dir, 0o700), os.Symlink("../dotfiles/claude.json", r.path)); err != nil {
			t.Fatal(err)
		}
		r.want(outcome{Out: installedLine}, "install")
		if link, err := os.Readlink(r.path); err != nil || link != "../dotfiles/claude.json" || !strings.Contains(r.read(target), "hook") {
			t.Errorf("link to %s, %v", link, err)
		}
	})
	t.Run("a link to nothing", func(t *testing.T) {
		r := newInstallRig(t)
		if err := errors.Join(os.Mkdir(r.dir, 0o700), os.Symlink("/none/at/all", r.path)); err != nil {
			t.Fatal(err)
		}
		r.want(fails("~/.claude/settings.json is a link to nothing; remove it, or restore what it points to"), "install")
	})
	t.Run("another user's", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give files away")
		}
		r := newInstallRig(t)
		r.write(r.path, "{}", 0o600)
		if err := os.Chown(r.path, 12345, -1); err != nil {
			t.Fatal(err)
		}
		r.want(fails("~/.claude/settings.json belongs to uid 12345; run sm as that user"), "install")
	})
	t.Run("elsewhere", func(t *testing.T) {
		r := newInstallRig(t)
		r.vars["CLAUDE_CONFIG_DIR"] = r.home + "/cc"
		r.want(outcome{Out: "~/cc/settings.json: installed: new sessions report to the observer\n"}, "install")
		r.vars["CLAUDE_CONFIG_DIR"] = "/a,/b"
		r.want(fails("CLAUDE_CONFIG_DIR names several directories; set it to the one with the settings"), "install")
	})
}

func TestInstallFindsItself(t *testing.T) {
	t.Parallel()
	r := newInstallRig(t)
	link := r.home + "/link/session-monitor"
	if err := errors.Join(os.Mkdir(filepath.Dir(link), 0o700), os.Symlink(r.program, link)); err != nil {
		t.Fatal(err)
	}
	for called, want := range map[string]string{r.program: r.program, link: link, "sm": r.program, "/bin/sh": r.program, "": r.program} {
		r.calledAs = called
		if got := r.run("install"); got.Code != 0 {
			t.Errorf("%+v", got)
		}
		if text := r.read(r.path); strings.Count(text, `"`+want+`"`) != 8 || strings.Count(text, "statusline") != 1 {
			t.Errorf("called as %s: %s", called, text)
		}
	}
	r.program = r.home + "/gone"
	r.want(outcome{1, "", "sm: this program has been replaced or removed since it started; run it again\n"}, "install")
	r.program = filepath.Join(os.TempDir(), "go-build-sm-test")
	r.write(r.program, "", 0o700)
	defer os.Remove(r.program)
	r.want(outcome{1, "", "sm: this program will be gone when it ends; build it first, with 'make build'\n"}, "install")
}

// The hooks read no configuration: what they cannot know stands in their arguments.
func TestInstallSocket(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, config string
		vars         map[string]string
		args         []string
		want         string // after "sm statusline"
	}{
		{name: "default"},
		{name: "default in the configuration", config: "socket: ~/.local/state/sm/run/sm.sock\n"},
		{name: "configured", config: "socket: ~/my socket\n", want: " --socket '~/my socket'"},
		{name: "state", config: "state: ~/st\n", want: " --socket ~/st/run/sm.sock"},
		{name: "flag", args: []string{"--socket", "/s"}, want: " --socket /s"},
		{name: "variable", vars: map[string]string{"SM_SOCKET": "/v"}, want: " --socket /v"},
		{name: "variable for the state", vars: map[string]string{"SM_STATE": "/v"}, want: " --socket /v/run/sm.sock"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newInstallRig(t)
			r.write(r.home+"/.config/sm/config.yaml", tt.config, 0o600)
			maps.Copy(r.vars, tt.vars)
			r.want(outcome{Out: installedLine}, append([]string{"install"}, tt.args...)...)
			text := strings.ReplaceAll(r.read(r.path), r.home, "~")
			if want := `"~/bin/sm statusline` + tt.want + `"`; !strings.Contains(text, want) || (tt.want != "") != strings.Contains(text, `"--socket",`) {
				t.Errorf("no %s in %s", want, text)
			}
		})
	}
}
