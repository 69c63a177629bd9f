package tmux

import (
	"fmt"

	"golang.org/x/sys/unix"

	"sm/handoff/proc"
)

// withTerminal opens a terminal only for as long as f runs: an open one would keep tmux
// from seeing that the last of its programs has ended.
func withTerminal(path string, f func(fd int) error) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open terminal %q: %w", path, err)
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	return f(fd)
}

// readTerminal looks at a terminal. It does not wait, and reads nothing from it.
func readTerminal(path string) (t terminal, err error) {
	err = withTerminal(path, func(fd int) error {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return fmt.Errorf("look at terminal %q: %w", path, err)
		}
		if st.Mode&unix.S_IFMT != unix.S_IFCHR {
			return fmt.Errorf("look at terminal %q: not a device", path)
		}
		t.device = proc.Device(unix.Major(st.Rdev), unix.Minor(st.Rdev))
		if t.unread, err = unix.IoctlGetInt(fd, unix.TIOCINQ); err != nil {
			return fmt.Errorf("ask what is unread on terminal %q: %w", path, err)
		}
		mode, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			return fmt.Errorf("read the mode of terminal %q: %w", path, err)
		}
		t.lines, t.echo = mode.Lflag&unix.ICANON != 0, mode.Lflag&unix.ECHO != 0
		t.kill = mode.Cc[unix.VKILL]
		return nil
	})
	return t, err
}

// flush drops what came in on a terminal and that no program has read, with the line that
// is being gathered.
func flush(path string) error {
	return withTerminal(path, func(fd int) error {
		if err := unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH); err != nil {
			return fmt.Errorf("flush terminal %q: %w", path, err)
		}
		return nil
	})
}
