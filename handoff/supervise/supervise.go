package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// What became of an instruction. These are the words of the wire.
const (
	Restarted = "restarted" // the new client runs
	Exhausted = "exhausted" // no restart is left; the client goes on as before
	Refused   = "refused"   // it may not be restarted, the reason says why; the client goes on as before
	Failed    = "failed"    // the client was ended or is no more, and none followed; the reason says why
)

// A Process is one process: no other has had both its pid and its start.
type Process struct {
	PID   int
	Start string // in ticks since the boot, field 22 of /proc/PID/stat; "" where there is no /proc
}

// Status is what the observer is told with each question.
type Status struct {
	Client       Process // zero while one client follows another
	RestartsLeft int
	CanRestart   bool    // a restart is left, and the client's arguments allow one
	Restarting   string  // the rotation for which a client is being ended or has ended, and no other has started yet
	Outcome      Outcome // of the last instruction, until the observer has answered to it
}

// An Outcome says what became of a rotation.
type Outcome struct {
	Rotation string // empty: there is none to tell
	Result   string // Restarted, Exhausted, Refused or Failed
	Reason   string // one line, why it was not carried out
}

// An Instruction asks for the client to be started again.
type Instruction struct {
	Rotation string // its id: the same one is carried out once
	Action   string // "restart"; any other fails
	Prompt   string
}

// An Observer gives instructions.
type Observer interface {
	// Next waits for an instruction, and returns false when there was none for a while. It ends with ctx.
	Next(ctx context.Context, s Status) (Instruction, bool, error)
}

// Options says what to run.
type Options struct {
	// Argv is the client and its arguments, Env all of its environment. It inherits Files as its standard input,
	// output and error.
	Argv  []string
	Env   []string
	Files [3]*os.File
	// Guardian is what this program has to be called as, its name first, so that it calls [Guard] and nothing else: the
	// process that ends the client and all that it has started when this one is killed. Without one, and elsewhere than
	// on Linux, the kernel ends the client alone.
	Guardian []string
	// Restarts is how many restarts there may be in all. A client that is to be restarted has TermAfter from its
	// SIGTERM until it is killed.
	Restarts  int
	TermAfter time.Duration
	// Again makes the arguments of the client that follows, or says in a line why there can be none. See [Again].
	Again func(argv []string, prompt string) ([]string, error)
	// Prompt is asked for the first prompt of the client that follows this one, when SIGUSR1 asks for a restart.
	Prompt func(client Process) string
	// Resumed, when it is not nil, hears of each restart; Refused why SIGUSR1 has led to none, in a line.
	Resumed func(old, now Process)
	Refused func(client Process, reason string)
	// Observer may be nil: then SIGUSR1 alone asks for restarts.
	Observer Observer
}

// A Result is what there is to tell once the last client has ended.
type Result struct {
	// Code is the exit code of the last client, 128 and the number of the signal that killed it; 127 or 126 for a
	// program that was not found or could not be run, as a shell has it.
	Code     int
	Restarts int
	Refused  []string // why restarts were refused, in order, each reason once
	Left     int      // processes that the client left behind and that did not end
}

// The exit codes of a shell for a program that it could not start.
const (
	codeNotRun   = 126
	codeNotFound = 127
	codeSignal   = 128
)

// startError is a program that could not be started.
type startError struct {
	code int
	err  error
}

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// Run supervises clients until one has ended that is not followed by another. An error says why a client could not be
// started; the result's code goes with it.
//
// While it runs SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGCHLD are its own. It works without a terminal too.
func Run(o Options) (Result, error) {
	if len(o.Argv) == 0 || o.Again == nil || o.Prompt == nil {
		return Result{Code: codeNotRun}, errors.New("supervise: there is no client to run; give Argv, Again and Prompt")
	}
	s := newSupervisor(o)
	defer s.close()
	err := s.supervise()
	if failed, ok := errors.AsType[*startError](err); ok {
		s.result.Code = failed.code
		err = fmt.Errorf("run %s: %w", o.Argv[0], failed.err)
	}
	return s.result, err
}
