//go:build !linux

package supervise

import "syscall"

// attributes has nothing to set where the kernel does not end a client with us.
func attributes() *syscall.SysProcAttr { return nil }

// adopt does nothing where nobody can adopt: what a client leaves behind goes to the first process.
func adopt(bool) {}

// A child is a child of ours.
type child struct {
	Process
	ours, hangs bool
}

// family is empty without adoption.
func family(...int) []child { return nil }

func (c child) signal(syscall.Signal) {}

// startOf needs /proc.
func startOf(int) string { return "" }
