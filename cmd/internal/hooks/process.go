// Package hooks runs the commands that a client calls on every turn: `sm hook`
// and `sm statusline`. sm and the small program sm-hook share it.
//
// Invariants: the exit code is always 0, only an intended answer is printed,
// and a command ends within 2 s in any state of the observer. The package loads
// neither the configuration nor packages net and net/http, which take longer to
// start than the commands need.
//
// It decides nothing about agents: an answer is the observer's or, if no
// observer answers, the guard's by its state files.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sm/cmd/internal/caller"
	"sm/handoff/files"
	"sm/handoff/proc"
	"sm/transcript/claude/hook"
)

// A Process is the process of a hook.
type Process struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	caller.Caller
	Vars func() []string // all variables, as NAME=value
	// Executable is the path of sm, and CalledAs the name by which it was called.
	Executable func() (string, error)
	CalledAs   string
	// Slower multiplies the time limits of the observer; 0 is 1. Tests of output
	// set it, so that they do not depend on the speed of the machine.
	Slower int
	// Exit ends the process, as os.Exit does. If it is nil, late work is awaited.
	Exit func(code int)
}

// Self returns this process. executable returns the path of sm; calledAs is the
// name of the program in the command line.
func Self(executable func() (string, error), calledAs string) Process {
	return Process{
		Stdin:      os.Stdin,
		Stdout:     os.Stdout,
		Stderr:     os.Stderr,
		Caller:     caller.Caller{Env: os.LookupEnv},
		Vars:       os.Environ,
		Executable: executable,
		CalledAs:   calledAs,
		Exit:       os.Exit,
	}
}

// Run runs `hook` and `statusline` with their arguments. done is false for any
// other command line, and for one that asks for help, as a user would.
func (p *Process) Run(ctx context.Context, args []string) (done bool) {
	if len(args) == 0 || len(args) == 2 && (args[1] == "-h" || args[1] == "--help") {
		return false
	}
	switch args[0] {
	case "hook":
		p.Hook(ctx, args[1:])
	case "statusline":
		p.Statusline(ctx, args[1:])
	default:
		return false
	}
	return true
}

// slower returns a time limit multiplied by Slower.
func (p *Process) slower(limit time.Duration) time.Duration {
	return limit * time.Duration(max(1, p.Slower))
}

// Program returns the path by which the client is to call this program: that of
// this call if it leads to the program, since a link such as ~/bin/sm outlives
// the version that it points to, else that of Executable.
func (p *Process) Program() (string, error) {
	self, err := p.Executable()
	if err == nil {
		_, err = os.Stat(self)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("this program has been replaced or removed since it started; run it again")
	}
	if err != nil {
		return "", fmt.Errorf("find this program: %w; call it by its path", err)
	}
	if strings.HasPrefix(self, filepath.Join(os.TempDir(), "go-build")) {
		return "", errors.New("this program will be gone when it ends; build it first, with 'make build'")
	}
	called, _ := exec.LookPath(p.CalledAs)
	called, _ = filepath.Abs(called) // an error leaves a path that does not exist
	if files.Same(called, self) {
		return called, nil
	}
	return self, nil
}

// nameProgram replaces the name sm in an answer by the path of this program,
// unless the agent's PATH leads to it. For Codex it always does: Codex runs
// commands in a login shell, which may have another PATH. Texts that are typed
// into panes keep the name.
func (p *Process) nameProgram(answer []byte, codex bool) []byte {
	program, err := p.Program()
	if err != nil || !codex && files.Same(program, proc.LookPath(p.Get("PATH"), "sm")) {
		return answer
	}
	return hook.NameProgram(answer, program)
}
