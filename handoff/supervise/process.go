package supervise

import (
	"os"
	"strconv"
	"syscall"

	"sm/handoff/proc"
)

// family returns the children of a process. It reads all of /proc, because not
// every kernel lists a process's children. The result includes ended processes
// that were not collected: one of their threads may still run, and their
// children become ours only after that.
func family(parent int) (all []proc.Process) {
	entries, _ := os.ReadDir("/proc") // as many as can be read
	for _, e := range entries {
		pid, _ := strconv.Atoi(e.Name()) // 0, which is no process, for other names
		if p, ok := readStat(pid); ok && p.Parent == parent {
			all = append(all, p)
		}
	}
	return all
}

// identity returns the identity of a process.
func identity(p proc.Process) Process { return Process{p.PID, p.Start} }

// send signals a child of ours, or of the guardian, and no other process,
// because it opens the handle before the check.
func send(c proc.Process, sig syscall.Signal) {
	handle, err := os.FindProcess(c.PID)
	if err != nil {
		return
	}
	defer func() { _ = handle.Release() }()
	if p, ok := readStat(c.PID); ok && p.Start == c.Start &&
		(p.Parent == c.Parent || p.Parent == os.Getpid()) {
		_ = handle.Signal(sig) // it may have ended
	}
}

func startOf(pid int) string {
	p, _ := readStat(pid)
	return p.Start
}

func readStat(pid int) (p proc.Process, ok bool) {
	p, err := proc.Stat("/proc", pid)
	return p, err == nil && p.Start != ""
}
