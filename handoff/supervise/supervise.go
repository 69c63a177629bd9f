package supervise

import (
	"context"
	"fmt"
	"os"
	"time"
)

// The results of an instruction, as sent to the observer.
const (
	Restarted = "restarted" // the new client runs
	Exhausted = "exhausted" // no restart is left; the client continues
	Refused   = "refused"   // it may not be restarted; the client continues
	Failed    = "failed"    // the client has ended and none followed
)

// A Process is a process, identified by pid and start time together.
type Process struct {
	PID   int
	Start string // in ticks since the boot, field 22 of /proc/PID/stat; "" where there is no /proc
}

// Status is sent to the observer with each question.
type Status struct {
	Client       Process // zero between two clients
	RestartsLeft int
	CanRestart   bool    // a restart is left, and the client's arguments permit one
	Restarting   string  // the rotation of a restart that is under way
	Outcome      Outcome // of the last instruction, until the observer has answered
}

// An Outcome is the result of a rotation.
type Outcome struct {
	Rotation string // empty for no outcome
	Result   string // Restarted, Exhausted, Refused or Failed
	Reason   string // why it was not carried out, in one line
}

// An Instruction asks for the client to be started again.
type Instruction struct {
	Rotation string // id of the rotation; each is carried out once
	Action   string // "restart"; any other fails
	Prompt   string
}

// An Observer gives instructions.
type Observer interface {
	// Next waits for an instruction, and returns one without a rotation if
	// there was none for a while. It ends with ctx.
	Next(ctx context.Context, s Status) (Instruction, error)
}

// Options are the settings of [Run].
type Options struct {
	Argv  []string    // the client and its arguments
	Env   []string    // its whole environment
	Files [3]*os.File // its standard input, output and error
	// Guardian means that [Guard] has started this process. Otherwise the
	// kernel ends only the client when this process is killed.
	Guardian  bool
	Restarts  int           // limit of restarts
	TermAfter time.Duration // from SIGTERM to SIGKILL for a client that is restarted
	// Again returns the arguments of the next client, or an error of one line
	// that explains why there can be none. See [Again].
	Again func(argv []string, prompt string) ([]string, error)
	// Prompt returns the first prompt of the next client after SIGUSR1.
	Prompt func(client Process) string
	// Resumed is called after each restart, Refused when SIGUSR1 did not lead
	// to one.
	Resumed  func(old, now Process)
	Refused  func(client Process, reason string)
	Observer Observer
}

// A Result describes a run after the end of the last client.
type Result struct {
	// Code is the exit code of the last client, or 128 and the number of the signal that killed
	// it; 127 for a program that was not found, 126 for one that could not be run.
	Code     int
	Restarts int
	Refused  []string // why restarts were refused, each reason once
	Left     int      // processes that the client left behind and that did not end
}

// The exit codes of a shell for a program that it could not start.
const (
	codeNotRun   = 126
	codeNotFound = 127
	codeSignal   = 128
)

// Run supervises clients until one ends without a successor. An error means
// that a client could not be started.
func Run(o Options) (Result, error) {
	s := newSupervisor(o)
	defer s.close()
	if err := s.supervise(); err != nil {
		return s.result, fmt.Errorf("run %s: %w", o.Argv[0], err)
	}
	return s.result, nil
}
