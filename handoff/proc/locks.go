package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"sm/handoff/files"
)

// Locks finds the processes of this user that hold an flock on a file. It takes
// no lock itself, so it never prevents a client from taking one. Without /proc,
// as on macOS, no file counts as locked.
type Locks struct {
	mu   sync.Mutex
	read time.Time
	held map[uint64][]int // pids, by inode
}

// locksFor is how long the system's list of locks is used before it is read
// again.
const locksFor = 500 * time.Millisecond

// Holder returns the process of this user that holds a lock on a file. Locks of other
// users do not count. The list of locks names a file by its inode, and on some file
// systems by another device than stat, so the process must have the file open.
func (l *Locks) Holder(path string) (p Process, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return p, false
	}
	for _, pid := range l.holders(info.Sys().(*syscall.Stat_t).Ino) {
		if !opened(pid, info) {
			continue
		}
		if p, err := Stat("/proc", pid); err == nil {
			return p, true
		}
	}
	return p, false
}

// holders returns the processes that hold a lock on a file with that inode
// number.
func (l *Locks) holders(inode uint64) []int {
	l.mu.Lock()
	defer l.mu.Unlock()

	if now := time.Now(); now.Sub(l.read) >= locksFor {
		text, _ := os.ReadFile("/proc/locks") // without a list no file is locked
		l.held = flocks(text)
		l.read = now
	}
	return slices.Clone(l.held[inode])
}

// opened reports whether a process is this user's and has a file open.
func opened(pid int, file os.FileInfo) bool {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	if info, err := os.Stat(dir); err != nil || !files.Own(info) {
		return false
	}
	fds, _ := os.ReadDir(filepath.Join(dir, "fd")) // empty for a process that has ended
	for _, fd := range fds {
		if open, err := os.Stat(filepath.Join(dir, "fd", fd.Name())); err == nil &&
			os.SameFile(open, file) {
			return true
		}
	}
	return false
}

// flocks parses lines such as "1: FLOCK  ADVISORY  WRITE 4711 08:01:123456 0
// EOF". It skips processes that wait for a lock, which have an arrow after the
// number.
func flocks(text []byte) map[uint64][]int {
	held := map[uint64][]int{}
	for line := range bytes.Lines(text) {
		var number, pid, major, minor int
		var kind, mode string
		var inode uint64
		_, err := fmt.Sscanf(string(line), "%d: FLOCK %s %s %d %x:%x:%d",
			&number, &kind, &mode, &pid, &major, &minor, &inode)
		if err == nil {
			held[inode] = append(held[inode], pid)
		}
	}
	return held
}
