package tmux

import "errors"

// errNoProc makes every verification fail.
var errNoProc = errors.New("processes can be checked on Linux only")

// terminal is the state of a terminal in the kernel.
type terminal struct {
	device uint64
	lines  bool // the kernel edits lines; off for a program that reads keys
	echo   bool // the kernel echoes typed text; off for the same programs
	unread int  // bytes that no program has read, except those of the kernel's line
}
