package main

import (
	"fmt"
	"os"

	"sm/cmd/internal/hooks"
	"sm/cmd/sm/internal/term"
	"sm/cmd/sm/internal/view"
	"sm/dashboards/screen/plain"
)

// The exit codes. Scripts rely on them.
const (
	exitDone   = 0
	exitFailed = 1 // refused or failed
	exitUsage  = 2 // wrong usage, no agent here, or no observer
)

// unexplained is the code of a usage error that does not name the command with
// the relevant help yet.
const unexplained = -1

// environ is the environment of a command: streams, variables and the working
// directory. Commands use it in place of package os, so that tests can run them
// in parallel.
type environ struct {
	hooks.Process
	dir      string // the working directory, "" for that of the process
	guardian bool   // supervise.Guard has started this process
}

// workDir returns the directory that relative paths start from.
func (env *environ) workDir() (string, error) {
	if env.dir != "" {
		return env.dir, nil
	}
	return os.Getwd()
}

// exitError is an error with its own exit code. Without err the command has
// already printed the reason.
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

// usagef formats a usage error. environ.execute adds the command whose help to
// read.
func usagef(format string, args ...any) error {
	return &exitError{unexplained, fmt.Errorf(format, args...)}
}

// absentf formats an error about a missing agent or observer, with the remedy.
func absentf(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// note prints a line to standard error.
func (env *environ) note(format string, args ...any) {
	fmt.Fprintln(env.Stderr, "sm: "+plain.Line(fmt.Sprintf(format, args...)))
}

// print prints a line to standard output.
func (env *environ) print(format string, args ...any) error {
	_, err := fmt.Fprintln(env.Stdout, plain.Line(fmt.Sprintf(format, args...)))
	return err
}

// colours reports whether output to a stream is coloured: on terminals, unless
// NO_COLOR is set.
func (env *environ) colours(stream any) bool {
	return term.IsTerminal(stream) && env.Get("NO_COLOR") == ""
}

func (env *environ) printer() *view.Printer {
	to := &view.Printer{
		Writer:  env.Stdout,
		Colour:  env.colours(env.Stdout),
		Columns: term.Columns(env.Stdout, env.Get("COLUMNS")),
		Glyphs:  view.GlyphsOf(env.Env),
	}
	if term.IsTerminal(env.Stdout) {
		to.Wrap = to.Columns
	}
	return to
}

// answer prints v as JSON, or by the template with that name. If err is not
// nil, it returns err and prints nothing.
func (env *environ) answer(asJSON bool, name string, v any, err error) error {
	switch {
	case err != nil:
		return err
	case asJSON:
		return writeJSON(env.Stdout, v)
	}
	return env.printer().Print(name, v)
}
