package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A Process is a process in /proc.
type Process struct {
	PID           int
	Name          string
	State         string // R, S, D, T, t, Z and so on
	Parent, Group int
	Terminal      uint64 // the device of the controlling terminal, see Device
	Front         int    // the foreground process group of that terminal
	Flags         uint64 // the kernel's PF_ flags
	Start         string // in ticks since the boot; "" if unknown
	Signals       uint64 // pending ones of the main thread, bit 0 for signal 1
}

const (
	flagExiting = 0x4    // PF_EXITING in linux/sched.h; its children get another parent later
	signalKill  = 1 << 8 // SIGKILL
)

// Ended reports whether a process has ended, even if its parent has not waited
// for it.
func (p *Process) Ended() bool { return p.State == "Z" || p.State == "X" || p.State == "x" }

// Exiting reports whether a process has begun to end.
func (p *Process) Exiting() bool { return p.Flags&flagExiting != 0 }

// Ending reports whether a process has begun to end, or will do so immediately.
func (p *Process) Ending() bool { return p.Exiting() || p.Signals&signalKill != 0 }

// Shell reports whether a process has the name of a shell.
func (p *Process) Shell() bool {
	return slices.Contains(
		[]string{"sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox"},
		p.Name,
	)
}

// Device returns a device number that does not depend on the system's encoding.
func Device(major, minor uint32) uint64 { return uint64(major)<<32 | uint64(minor) }

// Stat reads /proc/PID/stat, see proc(5). The error is fs.ErrNotExist if the
// process does not exist.
func Stat(proc string, pid int) (Process, error) {
	stat, err := Read(proc, pid, "stat")
	if errors.Is(err, syscall.ESRCH) { // it ended between open and read
		err = fs.ErrNotExist
	}
	if err != nil {
		return Process{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	return parse(pid, stat)
}

// parse parses a line such as "4711 (a name) S 42 …". A name may contain spaces
// and brackets. Fields missing from a short line stay zero.
func parse(pid int, stat []byte) (Process, error) {
	from := bytes.IndexByte(stat, '(')
	to := bytes.LastIndexByte(stat, ')')
	if from < 0 || to < from {
		return Process{}, fmt.Errorf("process %d: no name in %q; see proc(5)", pid, stat)
	}
	var fields [30]string // the first is the third of proc(5)
	copy(fields[:], strings.Fields(string(stat[to+1:])))
	number := func(i int) int {
		n, _ := strconv.Atoi(fields[i]) // the kernel writes nothing else
		return n
	}
	tty := uint32(number(4)) // signed
	return Process{
		PID:      pid,
		Name:     string(stat[from+1 : to]),
		State:    fields[0],
		Parent:   number(1),
		Group:    number(2),
		Terminal: Device(tty>>8&0xfff, tty&0xff|tty>>12&0xfff00),
		Front:    number(5),
		Flags:    uint64(number(6)),
		Start:    fields[19],
		Signals:  uint64(number(28)),
	}, nil
}

// Alive reports whether a process with the pid and start time runs; an empty
// start time matches any.
func Alive(pid int, start string) bool {
	p, err := Stat("/proc", pid)
	if err != nil {
		// Without /proc, as on macOS, signal 0 shows that some process has the pid.
		return !errors.Is(err, fs.ErrNotExist) || !Mounted() && syscall.Kill(pid, 0) == nil
	}
	return !p.Ended() && (start == "" || p.Start == start)
}

// maxLineage limits the number of processes in a lineage.
const maxLineage = 64

// Lineage yields a process and its ancestors, the nearest first, without
// process 1. Each is read once, however often the sequence is used.
func Lineage(proc string, pid int) iter.Seq[Process] {
	var read []Process
	return func(yield func(Process) bool) {
		for i := range maxLineage {
			if i == len(read) {
				if pid <= 1 {
					return
				}
				p, err := Stat(proc, pid)
				if err != nil {
					return
				}
				read = append(read, p)
				pid = p.Parent
			}
			if !yield(read[i]) {
				return
			}
		}
	}
}

// ClientPID returns the pid of the client: the pid in named, which older
// clients do not set, else that of the nearest ancestor that is not a shell.
// line begins with the parent.
func ClientPID(named string, parent int, line iter.Seq[Process]) int {
	if pid, err := strconv.Atoi(named); err == nil && pid > 1 {
		return pid
	}
	pid := parent
	for p := range line {
		if !p.Shell() {
			break
		}
		pid = p.Parent
	}
	if pid <= 1 {
		return 0
	}
	return pid
}

// ChildOf returns the child of ancestor from which pid descends; ok is false if
// there is none.
func ChildOf(ancestor, pid int, proc string) (child int, ok bool) {
	for p := range Lineage(proc, pid) {
		if p.Parent == ancestor && ancestor > 1 {
			return p.PID, true
		}
	}
	return 0, false
}

// Mounted reports whether processes are listed in /proc.
func Mounted() bool {
	_, err := os.Stat("/proc/self")
	return err == nil
}

// Catches reports whether a process has a handler for a signal: SigCgt in proc(5).
func Catches(proc string, pid int, sig syscall.Signal) bool {
	status, _ := Read(proc, pid, "status") // empty if the process has ended
	_, text, _ := strings.Cut(string(status), "\nSigCgt:")
	text, _, _ = strings.Cut(text, "\n")
	mask, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
	return err == nil && mask>>(uint(sig)-1)&1 == 1
}
