package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Locks knows which files are locked by flock, of all processes that this one may see. It
// takes no lock itself: who wants one must never be turned away by us.
type Locks struct {
	path string // of the system's list
	mu   sync.Mutex
	read time.Time
	held map[uint64]int // pids, by inode
}

// locksFor is how long the system's list is taken for true: it is asked about many files at a time.
const locksFor = 500 * time.Millisecond

// NewLocks reads the locks in a /proc. Without one, as on macOS, no file counts as locked.
func NewLocks(proc string) *Locks { return &Locks{path: proc + "/locks"} }

// Holder is the process that holds a lock on a file. Of one that this process may not see no more than its
// PID is known, which may be 0. Of the file the inode alone is compared:
// on some file systems the system's list names another device than stat.
func (l *Locks) Holder(path string) (p Process, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return p, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return p, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.read) >= locksFor {
		text, _ := os.ReadFile(l.path) // unreadable is as good as empty
		l.held, l.read = flocks(text), now
	}
	pid, held := l.held[st.Ino]
	if held {
		if p, err = Stat(filepath.Dir(l.path), pid); err != nil {
			p = Process{PID: max(0, pid)}
		}
	}
	return p, held
}

// flocks reads lines such as "1: FLOCK  ADVISORY  WRITE 4711 08:01:123456 0 EOF". Those who
// wait for a lock have an arrow behind the number.
func flocks(text []byte) map[uint64]int {
	held := map[uint64]int{}
	for line := range bytes.Lines(text) {
		words := bytes.Fields(line)
		if len(words) < 6 || string(words[1]) != "FLOCK" {
			continue
		}
		file := words[5]
		if ino, err := strconv.ParseUint(string(file[bytes.LastIndexByte(file, ':')+1:]), 10, 64); err == nil {
			held[ino], _ = strconv.Atoi(string(words[4]))
		}
	}
	return held
}
