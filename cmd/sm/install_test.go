package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// installRig is a home with settings, and a program to install.
type installRig struct {
	t                 *testing.T
	home, dir, path   string
	program, calledAs string
	vars              map[string]string
}

func newInstallRig(t *testing.T) *installRig {
	t.Helper()
	home, err := os.MkdirTemp("", "sm-") // not t.TempDir: a socket's path is short
	noErrors(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	if home, err = filepath.EvalSymlinks(home); err != nil {
		t.Fatal(err)
	}
	r := &installRig{
		t:       t,
		home:    home,
		dir:     home + "/.claude",
		path:    home + "/.claude/settings.json",
		program: home + "/bin/sm",
	}
	r.calledAs = r.program
	r.vars = map[string]string{"HOME": home, "PATH": home + "/path", "TMPDIR": home + "/tmp"}
	r.write(r.program, "#!/bin/sh\n", 0o700)
	r.client("2.1.330")
	return r
}

// client adds a client of this version to the PATH.
func (r *installRig) client(version string) {
	r.t.Helper()
	r.write(r.home+"/path/claude", "#!/bin/sh\necho '"+version+" (Claude Code)'\n", 0o700)
}

// write writes a file while no other test starts a process: a process that inherits the file
// open for writing would keep the system from running it.
func (r *installRig) write(path, text string, mode fs.FileMode) {
	r.t.Helper()
	syscall.ForkLock.RLock()
	err := errors.Join(
		os.MkdirAll(filepath.Dir(path), 0o700),
		os.WriteFile(path, []byte(text), 0o600),
		os.Chmod(path, mode),
	)
	syscall.ForkLock.RUnlock()
	noErrors(r.t, err)
}

func (r *installRig) read(path string) string {
	r.t.Helper()
	return string(readFile(r.t, path))
}

// environ returns the process of a command that runs in this test.
func (r *installRig) environ() *environ {
	env := testEnv(r.vars)
	env.Executable = func() (string, error) { return r.program, nil }
	env.CalledAs = r.calledAs
	return env
}

// clean returns what was written to a stream, with ~ for the home.
func (r *installRig) clean(stream any) string {
	return strings.ReplaceAll(stream.(*bytes.Buffer).String(), r.home, "~")
}

// notes matches the notes at the end of an installation.
var notes = regexp.MustCompile(`(?m)^sm: note: .*\n`)

func (r *installRig) run(args ...string) outcome {
	env := r.environ()
	code := env.execute(r.t.Context(), args)
	says := notes.ReplaceAllString(r.clean(env.Stderr), "") // tested by TestInstallNotes
	return outcome{code, r.clean(env.Stdout), says}
}

func (r *installRig) want(want outcome, args ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.run(args...)); diff != "" {
		r.t.Errorf("sm %q (-want +got):\n%s", args, diff)
	}
}

const (
	installedLine   = "~/.claude/settings.json: installed: takes effect at once, also in sessions that run\n"
	uninstalledLine = "~/.claude/settings.json: uninstalled\n"
	unchangedLine   = "~/.claude/settings.json: nothing to change\n"
)

func TestInstallFindsItself(t *testing.T) {
	t.Parallel()
	r := newInstallRig(t)
	link := r.home + "/link/session-monitor"
	noErrors(t, errors.Join(
		os.Mkdir(filepath.Dir(link), 0o700),
		os.Symlink(r.program, link),
	))
	for called, want := range map[string]string{
		r.program: r.program,
		link:      link,
		"sm":      r.program,
		"/bin/sh": r.program,
		"":        r.program,
	} {
		r.calledAs = called
		if got := r.run("install"); got.Code != 0 {
			t.Errorf("got %+v", got)
		}
		if text := r.read(r.path); strings.Count(text, `"`+want+` hook"`) != 8 ||
			strings.Count(text, "statusline") != 1 {
			t.Errorf("called as %s: %s", called, text)
		}
	}
	r.program = r.home + "/gone"
	r.want(
		outcome{
			1,
			"",
			"sm: this program has been replaced or removed since it started; run it again\n",
		},
		"install",
	)
	r.program = filepath.Join(os.TempDir(), "go-build-sm-test")
	r.write(r.program, "", 0o700)
	defer os.Remove(r.program)
	r.want(
		outcome{
			1,
			"",
			"sm: this program will be gone when it ends; build it first, with 'make build'\n",
		},
		"install",
	)
}
