package tmux

import (
	"fmt"

	"golang.org/x/sys/unix"

	"sm/handoff/proc"
)

// withTerminal opens a terminal while f runs. An open terminal would hide from tmux
// that the last program in it has ended.
func withTerminal(path string, f func(fd int) error) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == nil {
		err = f(fd)
		_ = unix.Close(fd) // nothing was written
	}
	if err != nil {
		return fmt.Errorf("terminal %q: %w", path, err)
	}
	return nil
}

// readTerminal reads a terminal's state, and none of its input.
func readTerminal(path string) (t terminal, err error) {
	err = withTerminal(path, func(fd int) error {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		if st.Mode&unix.S_IFMT != unix.S_IFCHR {
			return unix.ENOTTY
		}
		unread, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
		if err != nil {
			return err
		}
		mode, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			return err
		}
		t = terminal{
			device: proc.Device(unix.Major(st.Rdev), unix.Minor(st.Rdev)),
			lines:  mode.Lflag&unix.ICANON != 0,
			echo:   mode.Lflag&unix.ECHO != 0,
			unread: unread,
		}
		return nil
	})
	return t, err
}

// flush drops the input that no program has read, the kernel's line included.
func flush(path string) error {
	return withTerminal(path, func(fd int) error {
		return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH)
	})
}
