package tmux

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// verify checks the state of a pane together with that of the client's process.
func (s State) verify(c Client) error {
	reason, err := s.unfit(), error(nil)
	if reason == ReasonNone {
		reason, err = s.holds(c)
	}
	if reason == ReasonNone {
		return nil
	}
	return &Error{Op: "type", Pane: s.Pane, Reason: reason, Err: err}
}

// unfit says what keeps keys from the pane's program.
func (s State) unfit() Reason {
	switch {
	case s.Dead:
		return ReasonDead
	case s.InMode:
		return ReasonMode
	case s.InputOff:
		return ReasonInputOff
	case s.Synchronized:
		return ReasonSynchronized
	case s.BracketedKnown && !s.Bracketed: // every version of the client asks for it
		return ReasonUnclear
	}
	return ReasonNone
}

// holds says whether the client is in the pane, in front there, and reads keys. What can
// change from one moment to the next comes last.
func (s State) holds(c Client) (Reason, error) {
	line, err := ancestry(c.PID)
	if err != nil {
		return reasonOfProcess(err), err
	}
	p, err := readProcess(c.PID)
	if err != nil {
		return reasonOfProcess(err), err
	}
	switch {
	case p.Start != c.Start:
		return ReasonReused, fmt.Errorf("process %d started at %s, not at %s", c.PID, p.Start, c.Start)
	case p.Ended(): // and nobody has asked how
		return ReasonGone, fmt.Errorf("process %d has ended", c.PID)
	case !slices.Contains(line, s.PID):
		return ReasonReused, fmt.Errorf("process %d does not descend from the pane's %d", c.PID, s.PID)
	}
	tty, err := readTerminal(s.TTY)
	switch {
	case err != nil:
		return ReasonUnknown, err
	case p.Terminal != tty.device: // a client in the background has a terminal of its own
		return ReasonForeground, fmt.Errorf("the terminal of process %d is not %s", c.PID, s.TTY)
	case p.Stopped():
		return ReasonStopped, nil
	case p.Group != p.Front:
		return ReasonForeground, nil
	case p.Ending():
		return ReasonEnding, fmt.Errorf("process %d is in exit", c.PID)
	case !tty.raw(): // the kernel would show the text itself, and keep it for the shell
		return ReasonEnding, fmt.Errorf("%s is not in raw mode", s.TTY)
	}
	return ReasonNone, nil
}

// reasonOfProcess tells a process that is not there from one that cannot be looked at.
func reasonOfProcess(err error) Reason {
	if errors.Is(err, fs.ErrNotExist) {
		return ReasonGone
	}
	return ReasonUnknown
}
