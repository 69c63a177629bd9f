package tmux

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
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
