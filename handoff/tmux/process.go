package tmux

import (
	"errors"
	"fmt"

	"sm/handoff/proc"
)

// errNoProc makes every verification fail: without /proc nothing says what is in front.
var errNoProc = errors.New("processes can be looked at on Linux only")

// readProcess reads /proc. A process that is no more gives fs.ErrNotExist.
func readProcess(pid int) (proc.Process, error) {
	if pid <= 0 {
		return proc.Process{}, fmt.Errorf("read process %d: not a pid", pid)
	}
	p, err := proc.Stat("/proc", pid)
	if err != nil && !proc.Mounted() {
		return p, errNoProc
	}
	if err == nil && p.Start == "" {
		err = fmt.Errorf("read process %d: it does not say when it began", pid)
	}
	return p, err
}

// generations bounds the walk to the first process: one that is reparented meanwhile
// must not make it endless.
const generations = 64

// ancestry is pid and its ancestors, nearest first.
func ancestry(pid int) ([]int, error) {
	var line []int
	for range generations {
		p, err := readProcess(pid)
		switch {
		case err != nil && line != nil: // gone in this moment: its child has another parent now
			return nil, fmt.Errorf("an ancestor: %v", err)
		case err != nil:
			return nil, err
		}
		line = append(line, pid)
		if p.Parent <= 1 {
			break
		}
		pid = p.Parent
	}
	return line, nil
}
