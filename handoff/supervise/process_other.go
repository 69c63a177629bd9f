//go:build !linux

package supervise

import (
	"os"
	"syscall"
)

// attributes has nothing to set where the kernel does not end a client with us.
func attributes() *syscall.SysProcAttr { return nil }

// adopt does nothing: what a client leaves behind becomes a child of process 1.
func adopt(bool) {}

// newGuardian starts none: a guardian cannot adopt processes here.
func newGuardian([]string, [3]*os.File) (*guardian, error) { return nil, nil }

// Guard returns false: there are no guardians.
func Guard() (was bool) { return false }
