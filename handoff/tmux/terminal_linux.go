package tmux

import (
	"cmp"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"sm/handoff/proc"
)

// openTerminal opens a terminal. The caller must close it soon: an open
// terminal hides from tmux that the last program in it has ended.
func openTerminal(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
}

// readTerminal reads the state of a terminal, and none of its input.
func readTerminal(path string) (t terminal, err error) {
	f, err := openTerminal(path)
	if err != nil {
		return t, err
	}
	defer f.Close()
	fd := int(f.Fd())
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	unread, unreadErr := unix.IoctlGetInt(fd, unix.TIOCINQ)
	mode, modeErr := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err := cmp.Or(err, unreadErr, modeErr); err != nil {
		return t, fmt.Errorf("terminal %q: %w", path, err)
	}
	return terminal{
		device: proc.Device(unix.Major(st.Rdev), unix.Minor(st.Rdev)),
		lines:  mode.Lflag&unix.ICANON != 0,
		echo:   mode.Lflag&unix.ECHO != 0,
		unread: unread,
	}, nil
}

// flush drops the input that no program has read, the kernel's line included.
func flush(path string) error {
	f, err := openTerminal(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
