package follow

import (
	"bytes"
	"os"
	"strconv"
)

// lives reports whether the process is there, and is the one that began at start,
// in the kernel's ticks since boot; an empty or odd start is not compared.
func lives(pid int, start string) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return !os.IsNotExist(err)
	}
	if _, err := strconv.ParseUint(start, 10, 64); err != nil {
		return true
	}
	// The name in parentheses may hold anything; the start time is the twentieth
	// field after it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(fields) < 20 || string(fields[19]) == start
}
