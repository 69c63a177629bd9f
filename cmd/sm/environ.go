package main

import (
	"fmt"
	"os"

	"sm/cmd/internal/hooks"
	"sm/cmd/sm/internal/term"
	"sm/cmd/sm/internal/view"
	"sm/dashboards/screen"
)

// The exit codes. They are a promise to scripts.
const (
	exitDone   = 0
	exitFailed = 1 // refused or failed
	exitUsage  = 2 // wrong usage, no agent here, or no observer
)

// unexplained is wrong usage in an error that does not yet end with the command whose help to read.
const unexplained = -1

// environ is what a command sees of the process. Commands take it instead of
// package os, so that a test can run any of them beside others.
type environ struct {
	hooks.Process
	dir      string // the working directory, "" for that of the process
	guardian bool   // supervise.Guard has started this process
}

// workDir is the folder at which relative paths begin.
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

// usagef is an error for wrong usage; environ.execute adds where to read the right one.
func usagef(format string, args ...any) error {
	return &exitError{unexplained, fmt.Errorf(format, args...)}
}

// absentf formats an error about a missing agent or observer, with the remedy.
func absentf(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// note prints a line to standard error.
func (env *environ) note(format string, args ...any) {
	fmt.Fprintln(env.Stderr, "sm: "+screen.OneLine(fmt.Sprintf(format, args...)))
}

// print prints a line to standard output.
func (env *environ) print(format string, args ...any) error {
	_, err := fmt.Fprintln(env.Stdout, screen.OneLine(fmt.Sprintf(format, args...)))
	return err
}

// colours reports whether to colour what goes to a stream: on terminals, unless
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

// answer prints v as JSON or by a template, unless err is why there is none.
func (env *environ) answer(asJSON bool, name string, v any, err error) error {
	switch {
	case err != nil:
		return err
	case asJSON:
		return writeJSON(env.Stdout, v)
	}
	return env.printer().Print(name, v)
}
