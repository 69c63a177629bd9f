// Package hooks is what a client calls on every turn: `sm hook` and `sm
// statusline`, the same for sm itself and for the small program beside it,
// sm-hook.
//
// Invariants: the exit code is always 0, nothing is printed but an intended
// answer, and it ends within 2 s in any state of the observer. It loads
// neither the configuration nor packages net and net/http, which take longer to
// start than all that it does.
//
// It decides nothing about agents: an answer is the observer's, or the guard's
// by its state files where no observer answers.
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
	// Slower multiplies how long the observer may take, 0 is 1. It is for tests
	// of output, which must not depend on the speed of a machine.
	Slower int
	// Exit ends the process, as os.Exit does; nil waits for work that is late.
	Exit func(code int)
}

// Self is this process: a program that was called by a name.
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

// Run does what a client calls: it runs `hook` and `statusline` with their arguments. done
// is false for any other command line, and for one that asks for help, as a person would.
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

// slower is a limit of time as this process has it.
func (p *Process) slower(limit time.Duration) time.Duration {
	return limit * time.Duration(max(1, p.Slower))
}

// Program is the path that the client is to call us by: as we were called, for
// a link such as ~/bin/sm outlives the version that it points to.
func (p *Process) Program() (string, error) {
	self, err := p.Executable()
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(self)
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
	called, _ = filepath.Abs(called) // what is no path leads to no program
	if other, err := os.Stat(called); err == nil && os.SameFile(info, other) {
		return called, nil
	}
	return self, nil
}

// nameProgram has an answer name this program by its path where the agent's
// PATH does not lead to it. What is typed into panes does not come this way. Codex runs
// commands in a login shell, whose PATH may be another one.
func (p *Process) nameProgram(answer []byte, codex bool) []byte {
	program, err := p.Program()
	if err != nil {
		return answer
	}
	self, err := os.Stat(program)
	if found, foundErr := os.Stat(proc.LookPath(p.Get("PATH"), "sm")); err != nil ||
		foundErr == nil && !codex && os.SameFile(self, found) {
		return answer
	}
	return hook.NameProgram(answer, program)
}
