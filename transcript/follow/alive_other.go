//go:build !linux

package follow

import (
	"errors"
	"syscall"
)

// lives reports whether the process is there; that it is the one that began at
// start cannot be told here.
func lives(pid int, _ string) bool {
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
