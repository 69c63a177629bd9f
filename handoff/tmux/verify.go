package tmux

import (
	"errors"
	"fmt"
	"io/fs"

	"sm/handoff/proc"
)

// verify checks a pane's state and the client's process.
func (s State) verify(c Client) error {
	if s.unfit != ReasonNone {
		return refusal(s.Pane, s.unfit, nil)
	}
	reason, err := s.holds(c)
	return refusal(s.Pane, reason, err)
}

// holds checks that the client is in the pane, in the foreground, and reads keys.
// What can change from one moment to the next is read last.
func (s State) holds(c Client) (Reason, error) {
	if !proc.Mounted() {
		return ReasonUnknown, errNoProc
	}
	descends := false
	for p := range proc.Lineage("/proc", c.PID) {
		descends = descends || p.PID == s.PID
	}
	p, err := proc.Stat("/proc", c.PID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ReasonGone, err
	case err != nil:
		return ReasonUnknown, err
	case p.Start == "" || p.Start != c.Start:
		return ReasonReused, fmt.Errorf(
			"process %d started at %s, not at %s",
			c.PID,
			p.Start,
			c.Start,
		)
	case p.Ended():
		return ReasonGone, fmt.Errorf("process %d has ended", c.PID)
	case !descends:
		return ReasonReused, fmt.Errorf(
			"process %d does not descend from the pane's %d",
			c.PID,
			s.PID,
		)
	}

	tty, err := readTerminal(s.TTY)
	switch {
	case err != nil:
		return ReasonUnknown, err
	case p.Terminal != tty.device: // a background client has a terminal of its own
		return ReasonForeground, fmt.Errorf("the terminal of process %d is not %s", c.PID, s.TTY)
	case p.Stopped():
		return ReasonStopped, nil
	case p.Group != p.Front:
		return ReasonForeground, nil
	case p.Ending():
		return ReasonEnding, fmt.Errorf("process %d is exiting", c.PID)
	case !tty.raw(): // the kernel would echo the text, and keep it for the shell
		return ReasonEnding, fmt.Errorf("%s is not in raw mode", s.TTY)
	}
	return ReasonNone, nil
}
