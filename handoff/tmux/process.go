package tmux

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// process is what the kernel says of a process.
type process struct {
	state  byte // R, S, D, T, t, Z and so on
	parent int
	group  int
	tty    uint64 // major and minor of the controlling terminal
	front  int    // the group that is in front on that terminal
	start  string // clock ticks since boot
	flags  uint64 // the kernel's PF_ flags
	signal uint64 // the signals that the main thread has still to take, bit 0 for signal 1
}

const (
	flagExiting = 0x4    // PF_EXITING: it is in exit, and holds its terminal no longer than that
	signalKill  = 1 << 8 // SIGKILL, which it will not survive
)

func (p process) stopped() bool { return p.state == 'T' || p.state == 't' }
func (p process) ended() bool   { return p.state == 'Z' || p.state == 'X' || p.state == 'x' }
func (p process) ending() bool  { return p.flags&flagExiting != 0 || p.signal&signalKill != 0 }

// parseStat takes /proc/<pid>/stat apart. The second field is the program's name, in
// brackets, and may hold brackets and blanks of its own: count from the last one.
func parseStat(stat []byte) (process, error) {
	_, rest, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	f := strings.Fields(string(rest)) // f[0] is field 3
	if !ok || len(f) < 20 || len(f[0]) != 1 {
		return process{}, fmt.Errorf("read process: %d fields", len(f))
	}
	p := process{state: f[0][0], start: f[19]}
	var tty int
	for i, to := range map[int]*int{1: &p.parent, 2: &p.group, 4: &tty, 5: &p.front} {
		n, err := strconv.Atoi(f[i])
		if err != nil {
			return process{}, fmt.Errorf("read process: field %d: %w", i+3, err)
		}
		*to = n
	}
	for i, to := range map[int]*uint64{6: &p.flags, 28: &p.signal} {
		if i >= len(f) {
			continue
		}
		n, err := strconv.ParseUint(f[i], 10, 64)
		if err != nil {
			return process{}, fmt.Errorf("read process: field %d: %w", i+3, err)
		}
		*to = n
	}
	n := uint32(tty) // the kernel prints it as signed
	p.tty = device(n>>8&0xfff, n&0xff|n>>12&0xfff00)
	return p, nil
}

func device(major, minor uint32) uint64 { return uint64(major)<<32 | uint64(minor) }

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
		if p.parent <= 1 {
			break
		}
		pid = p.parent
	}
	return line, nil
}
