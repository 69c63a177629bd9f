package supervise

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes makes the kernel kill the client when we are killed. A hanging client that got
// less than SIGKILL would stay, and compete with the shell for the terminal.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL,
	}
}

// adopt makes us the parent of descendants that lose theirs, see PR_SET_CHILD_SUBREAPER in
// prctl(2).
func adopt(on bool) {
	value := uintptr(0)
	if on {
		value = 1
	}
	// Kernels that know no such thing are older than what Go runs on.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, value, 0, 0, 0)
}
