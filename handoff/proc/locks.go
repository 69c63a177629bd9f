package proc

import (
	"bytes"
	"os"
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
	held map[uint64]struct{} // by inode
}

// locksFor is how long the system's list is taken for true: it is asked about many files at a time.
const locksFor = 500 * time.Millisecond

// NewLocks reads the locks in a /proc. Without one, as on macOS, no file counts as locked.
func NewLocks(proc string) *Locks { return &Locks{path: proc + "/locks"} }

// Held says whether a process holds a lock on a file. Of the file the inode alone is compared:
// on some file systems the system's list names another device than stat.
func (l *Locks) Held(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.read) >= locksFor {
		text, _ := os.ReadFile(l.path) // unreadable is as good as empty
		l.held, l.read = flocks(text), now
	}
	_, held := l.held[st.Ino]
	return held
}

// flocks reads lines such as "1: FLOCK  ADVISORY  WRITE 4711 08:01:123456 0 EOF". Those who
// wait for a lock have an arrow behind the number.
func flocks(text []byte) map[uint64]struct{} {
	held := map[uint64]struct{}{}
	for line := range bytes.Lines(text) {
		words := bytes.Fields(line)
		if len(words) < 6 || string(words[1]) != "FLOCK" {
			continue
		}
		file := words[5]
		if ino, err := strconv.ParseUint(string(file[bytes.LastIndexByte(file, ':')+1:]), 10, 64); err == nil {
			held[ino] = struct{}{}
		}
	}
	return held
}
