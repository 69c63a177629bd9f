package main

import (
	"fmt"
	"io"
	"os"

	"sm/cmd/internal/caller"
	"sm/cmd/internal/hooks"
	"sm/cmd/sm/internal/config"
	"sm/cmd/sm/internal/term"
	"sm/cmd/sm/internal/view"
)

// The exit codes. They are a promise to scripts.
const (
	exitDone   = 0
	exitFailed = 1 // refused or failed
	exitUsage  = 2 // wrong usage, no agent here, or no observer
)

// environ is what a command sees of the process. Commands take it instead of package os, so that a test can run
// any of them beside others.
type environ struct {
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	lookupEnv config.Env
	vars      func() []string // all variables, as NAME=value
	dir       string          // the working directory, "" for that of the process
	// The path of this program, and the name by which it was called.
	executable func() (string, error)
	calledAs   string
	// registered is the session of a client by its own registry, "" for one that is not known; nil is the real one.
	registered func(pid int, start string) (session string)
}

func (env *environ) caller() *caller.Caller {
	return &caller.Caller{LookupEnv: env.lookupEnv, Registered: env.registered}
}

// hooks is what the hooks see of the process.
func (env *environ) hooks() *hooks.Process {
	return &hooks.Process{
		Stdin: env.stdin, Stdout: env.stdout, Stderr: env.stderr, LookupEnv: env.lookupEnv, Vars: env.vars,
		Executable: env.executable, CalledAs: env.calledAs, Registered: env.registered,
	}
}

// workDir is the folder at which relative paths begin.
func (env *environ) workDir() (string, error) {
	if env.dir != "" {
		return env.dir, nil
	}
	return os.Getwd()
}

// exitError is an error with its own exit code. Without err the command has already said what there is to say.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usagef is an error for wrong usage; it ends with where to read the right one.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format+"; see 'sm --help'", args...)}
}

// absentf is an error for an agent or an observer that is not there. The text says what to do about it.
func absentf(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// colours reports whether to colour what goes to a stream: on terminals, unless NO_COLOR says otherwise.
func (env *environ) colours(stream any) bool {
	no, _ := env.lookupEnv("NO_COLOR")
	return term.IsTerminal(stream) && no == ""
}

// A printer is where the answer of a command goes, and what can be shown there.
type printer struct{ view.Printer }

func (env *environ) printer() *printer {
	return &printer{view.Printer{Writer: env.stdout, Colour: env.colours(env.stdout), Wrap: term.WrapAt(env.stdout), Glyphs: view.GlyphsOf(env.lookupEnv)}}
}
