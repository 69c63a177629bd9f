package tmux

import (
	"errors"
	"fmt"
	"io/fs"

	"sm/handoff/proc"
)

// verify checks a pane's state and the client's process.
func (v view) verify(c Client) error {
	if v.unfit != ReasonNone {
		return refusal(v.Pane, v.unfit, nil)
	}
	reason, err := v.holds(c)
	return refusal(v.Pane, reason, err)
}

// holds checks that the client is in the pane, in the foreground, and reads
// keys. Values that can change from one moment to the next are read last.
func (v view) holds(c Client) (Reason, error) {
	if !proc.Mounted() {
		return ReasonUnknown, errNoProc
	}
	descends := false
	for p := range proc.Lineage("/proc", c.PID) {
		descends = descends || p.PID == v.PID
	}
	p, err := proc.Stat("/proc", c.PID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ReasonGone, err
	case err != nil:
		return ReasonUnknown, err
	case p.Start == "" || p.Start != c.Start:
		return ReasonReused, fmt.Errorf("process %d started at %s, not at %s", c.PID, p.Start, c.Start)
	case p.Ended():
		return ReasonGone, nil
	case !descends:
		return ReasonReused, fmt.Errorf("process %d does not descend from the pane's %d", c.PID, v.PID)
	}

	tty, err := readTerminal(v.TTY)
	switch {
	case err != nil:
		return ReasonUnknown, err
	case p.Terminal != tty.device: // a background client has a terminal of its own
		return ReasonForeground, fmt.Errorf("the terminal of process %d is not %s", c.PID, v.TTY)
	case p.State == "T" || p.State == "t": // by a signal, or by a tracer
		return ReasonStopped, nil
	case p.Group != p.Front:
		return ReasonForeground, nil
	case p.Ending(), tty.lines || tty.echo: // the kernel would echo the text, and keep it for the shell
		return ReasonEnding, nil
	}
	return ReasonNone, nil
}
