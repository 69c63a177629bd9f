package tmux

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// readProcess reads /proc. A process that is no more gives fs.ErrNotExist.
func readProcess(pid int) (process, error) {
	if pid <= 0 {
		return process{}, fmt.Errorf("read process %d: not a pid", pid)
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, syscall.ESRCH) { // it ended between open and read
		err = fs.ErrNotExist
	}
	if err != nil {
		return process{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	return parseStat(stat)
}

// deviceOf is the number of a terminal.
func deviceOf(path string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, fmt.Errorf("look at terminal %q: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return 0, fmt.Errorf("look at terminal %q: not a device", path)
	}
	return device(unix.Major(st.Rdev), unix.Minor(st.Rdev)), nil
}
