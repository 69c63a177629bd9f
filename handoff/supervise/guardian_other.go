//go:build !linux

package supervise

import "syscall"

// Guard starts no guardian, since a guardian could not adopt processes here.
func Guard([]string) (code int, ok bool) { return 0, false }

// attributes returns no attributes: the kernel does not end the client with us
// here.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// adopt does nothing: processes that a client leaves behind become children of
// process 1.
func adopt(bool) {}
