package supervise

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// reset takes back what a client may have set on a terminal that understands xterm's sequences, when it was killed and
// could not. The cursor is saved first since leaving the other screen restores it even if we are not on it.
const reset = "\x1b7\x1b[?1049l" + // the other screen
	"\x1b[?2026l\x1b[?2004l\x1b[?2031l\x1b[?1004l" + // updates at once, pastes, themes and focus unmarked
	"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l" + // the mouse
	"\x1b[<u\x1b[>4m\x1b[?1l\x1b>" + // keys
	"\x1b[?7h\x1b[?25h\x1b[0m\r\n" // lines that wrap, a cursor that shows, plain text

// terminal is the terminal that this process shares with the client. The zero value is no terminal.
type terminal struct {
	fd         int
	state      *term.State // before the first client; nil: there is no terminal
	out        io.Writer   // nil: standard output is none
	controlled bool        // a terminal sends us its signals
}

func newTerminal(files [3]*os.File) *terminal {
	t := &terminal{}
	if tty, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0); err == nil {
		t.controlled = true
		_ = tty.Close() // nothing was written
	}
	for i, f := range files {
		if f == nil || !term.IsTerminal(int(f.Fd())) {
			continue
		}
		if i == 1 {
			t.out = f
		}
		if t.state != nil {
			continue
		}
		if state, err := term.GetState(int(f.Fd())); err == nil {
			t.fd, t.state = int(f.Fd()), state
		}
	}
	return t
}

// front says that our group has the terminal, so that neither a read nor a setting would stop us.
func (t *terminal) front() bool {
	if t.state == nil {
		return false
	}
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil && group == syscall.Getpgrp()
}

// suspend stops the whole job, ourselves with it, after the client has stopped alone: else its shell would wait for us
// and never come back. The kernel lets it pass where there is no shell to come back to.
func (t *terminal) suspend() {
	if t.front() {
		_ = syscall.Kill(0, syscall.SIGTSTP) // our own group is always there
	}
}

// restore gives the terminal back as it was before the first client.
func (t *terminal) restore(killed bool) {
	if !t.front() {
		return
	}
	if killed && t.out != nil {
		_, _ = io.WriteString(t.out, reset) // the terminal may have gone
	}
	_ = term.Restore(t.fd, t.state)
}
