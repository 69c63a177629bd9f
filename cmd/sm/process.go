package main

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

	"sm/observer/fleet"
)

// A process is what the system says of one.
type process struct {
	pid    int
	name   string
	state  string // Z for one that has ended
	parent int
	start  string // in ticks since the boot
}

// processStat reads what proc(5) calls /proc/PID/stat.
func processStat(proc string, pid int) (p process, err error) {
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
	p = process{pid: pid, name: string(stat[from+1 : to]), state: string(fields[0])}
	if len(fields) > 19 {
		p.start = string(fields[19])
	}
	p.parent, err = strconv.Atoi(string(fields[1]))
	return p, err
}

// alive reports whether a process still runs, and is the one that began at that time; an empty time stands for any.
func alive(pid int, start string) bool {
	p, err := processStat("/proc", pid)
	if err != nil {
		// Without /proc, as on macOS, the signal that does nothing tells half of it.
		return !errors.Is(err, fs.ErrNotExist) || !isDir("/proc/self") && syscall.Kill(pid, 0) == nil
	}
	return p.state != "Z" && p.state != "X" && (start == "" || p.start == start)
}

// lineageMost bounds the way to the first process: so deep no agent's tool calls are.
const lineageMost = 64

// lineage gives a process and those that it descends from, the nearest first, as far as the system tells; the first
// process of all is left out.
func lineage(proc string, pid int) iter.Seq[process] {
	return func(yield func(process) bool) {
		for range lineageMost {
			if pid <= 1 {
				return
			}
			p, err := processStat(proc, pid)
			if err != nil || !yield(p) {
				return
			}
			pid = p.parent
		}
	}
}

// clientPID is the client's process: the one it names, which older ones do not, else our parent, past the shells that
// the client runs commands through.
func clientPID(named string, parent int, proc string) int {
	if pid, err := strconv.Atoi(named); err == nil && pid > 1 {
		return pid
	}
	pid := parent
	for p := range lineage(proc, parent) {
		if !slices.Contains([]string{"sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox"}, p.name) {
			break
		}
		pid = p.parent
	}
	if pid <= 1 {
		return 0
	}
	return pid
}

// childOf is the child of an ancestor through which pid descends from it; ok is false when it does not.
func childOf(ancestor, pid int, proc string) (child int, ok bool) {
	for p := range lineage(proc, pid) {
		if p.parent == ancestor && ancestor > 1 {
			return p.pid, true
		}
	}
	return 0, false
}

// ancestry is the lineage of a process as the observer takes it.
func ancestry(pid int) (line []fleet.Process) {
	for p := range lineage("/proc", pid) {
		line = append(line, fleet.Process{PID: p.pid, Start: p.start})
	}
	return line
}
