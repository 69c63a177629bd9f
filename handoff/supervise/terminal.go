package supervise

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// reset undoes the settings of a killed client on a terminal like xterm. The
// cursor is saved first, because leaving the alternate screen restores it even
// if that screen is not active.
const reset = "\x1b7\x1b[?1049l" + // the other screen
	"\x1b[?2026l\x1b[?2004l\x1b[?2031l\x1b[?1004l" + // updates at once, pastes, themes and focus unmarked
	"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l" + // the mouse
	"\x1b[<u\x1b[>4m\x1b[?1l\x1b>" + // keys
	"\x1b[?7h\x1b[?25h\x1b[0m\r\n" // lines that wrap, a cursor that shows, plain text

// terminal is the terminal that this process shares with the client. The zero
// value is no terminal.
type terminal struct {
	fd         int
	state      *term.State // before the first client; nil without a terminal
	out        io.Writer   // nil if standard output is not a terminal
	controlled bool        // the job has a controlling terminal, which sends it signals
	group      int         // the process group of the job
}

func newTerminal(files [3]*os.File) *terminal {
	t := &terminal{group: syscall.Getpgrp()}
	if tty, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0); err == nil {
		t.controlled = true
		_ = tty.Close() // nothing was written
	}
	for i, f := range files {
		fd := int(f.Fd())
		state, err := term.GetState(fd)
		if err != nil {
			continue
		}
		if i == 1 {
			t.out = f
		}
		if t.state == nil {
			t.fd = fd
			t.state = state
		}
	}
	return t
}

// front reports whether the job is in the foreground. If it is not, using the
// terminal would stop it.
func (t *terminal) front() bool {
	if t.state == nil {
		return false
	}
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil && group == t.group
}

// restore restores the state of the terminal before the first client.
func (t *terminal) restore(killed bool) {
	if !t.front() {
		return
	}
	if killed && t.out != nil {
		_, _ = io.WriteString(t.out, reset) // the terminal may have gone
	}
	_ = term.Restore(t.fd, t.state)
}
