//go:build !linux

package supervise

import "syscall"

// Guard starts no guardian: it could not adopt processes here.
func Guard([]string) (code int, ok bool) { return 0, false }

// attributes has nothing to set where the kernel does not end a client with us.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// adopt does nothing: what a client leaves behind becomes a child of process 1.
func adopt(bool) {}
