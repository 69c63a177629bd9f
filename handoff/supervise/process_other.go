//go:build !linux

package supervise

import (
	"os"
	"syscall"
)

// attributes has nothing to set where the kernel does not end a client with us.
func attributes() *syscall.SysProcAttr { return nil }

// adopt does nothing where nobody can adopt: what a client leaves behind goes to the first process.
func adopt(bool) {}

// newGuardian starts none: a guardian is of no use where nobody can adopt a family.
func newGuardian([]string, [3]*os.File) (*guardian, error) { return nil, nil }

// Guard says that this process is no guardian: there are none.
func Guard() (was bool) { return false }
