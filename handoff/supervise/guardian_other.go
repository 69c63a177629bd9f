//go:build !linux

package supervise

import (
	"errors"
	"os"
	"syscall"
)

// A guardian is of no use where nobody can adopt a family.
type guardian struct {
	process *os.Process
	news    chan guardianReport
}

// A guardianOrder is nothing here.
type guardianOrder struct{ Loose []Process }

// guardianReport is nothing here.
type guardianReport struct {
	Status syscall.WaitStatus
	Ended  int
}

func newGuardian([]string, [3]*os.File) (*guardian, error) { return nil, nil }

func (*guardian) send(guardianOrder) error { return nil }
func (*guardian) close()                   {}

func (*guardian) start(string, []string, []string, [3]*os.File) (Process, error) {
	return Process{}, errors.ErrUnsupported
}

// Guard says that this process is no guardian: there are none.
func Guard() (was bool) { return false }

// living needs /proc.
func living(Process) bool { return true }

// stopped needs /proc.
func stopped(Process) bool { return false }
