package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// A Process is what the system says of one.
type Process struct {
	PID    int
	Name   string
	State  string // Z for one that has ended
	Parent int
	Start  string // in ticks since the boot
}

// Stat reads what proc(5) calls /proc/PID/stat.
func Stat(proc string, pid int) (p Process, err error) {
	stat, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return p, err
	}
	// 4711 (a name) S 42 …: a name may hold spaces and brackets of its own.
	from, to := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if from < 0 || to < from {
		return p, fmt.Errorf("process %d: no name in %q; see proc(5)", pid, stat)
	}
	fields := bytes.Fields(stat[to+1:])
	if len(fields) < 2 {
		return p, fmt.Errorf("process %d: no parent in %q; see proc(5)", pid, stat)
	}
	p = Process{PID: pid, Name: string(stat[from+1 : to]), State: string(fields[0])}
	if len(fields) > 19 {
		p.Start = string(fields[19])
	}
	p.Parent, err = strconv.Atoi(string(fields[1]))
	return p, err
}

// Alive reports whether a process still runs, and is the one that began at that time; an empty time stands for any.
func Alive(pid int, start string) bool {
	p, err := Stat("/proc", pid)
	if err != nil {
		// Without /proc, as on macOS, the signal that does nothing tells half of it.
		return !errors.Is(err, fs.ErrNotExist) || !hasProc() && syscall.Kill(pid, 0) == nil
	}
	return p.State != "Z" && p.State != "X" && (start == "" || p.Start == start)
}

// maxLineage bounds the way to the first process: so deep no agent's tool calls are.
const maxLineage = 64

// Lineage gives a process and those that it descends from, the nearest first, as far as the system tells; the first
// process of all is left out.
func Lineage(proc string, pid int) iter.Seq[Process] {
	return func(yield func(Process) bool) {
		for range maxLineage {
			if pid <= 1 {
				return
			}
			p, err := Stat(proc, pid)
			if err != nil || !yield(p) {
				return
			}
			pid = p.Parent
		}
	}
}

// ClientPID is the client's process: the one it names, which older ones do not, else our parent, past the shells that
// the client runs commands through.
func ClientPID(named string, parent int, proc string) int {
	if pid, err := strconv.Atoi(named); err == nil && pid > 1 {
		return pid
	}
	pid := parent
	for p := range Lineage(proc, parent) {
		if !slices.Contains([]string{"sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox"}, p.Name) {
			break
		}
		pid = p.Parent
	}
	if pid <= 1 {
		return 0
	}
	return pid
}

// ChildOf is the child of an ancestor through which pid descends from it; ok is false when it does not.
func ChildOf(ancestor, pid int, proc string) (child int, ok bool) {
	for p := range Lineage(proc, pid) {
		if p.Parent == ancestor && ancestor > 1 {
			return p.PID, true
		}
	}
	return 0, false
}

func hasProc() bool {
	_, err := os.Stat("/proc/self")
	return err == nil
}
