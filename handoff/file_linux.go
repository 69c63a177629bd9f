package handoff

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// stillNamed reports whether the file still has the name by which it was
// opened. A name that was removed and created again does not count, so if it
// returns true for a file with one name, the file has had that name all the
// time.
func stillNamed(f *os.File, path string) bool {
	const removed = " (deleted)" // see proc(5)
	// The kernel decrements the link count before it removes the name, and locks the folder
	// meanwhile: reading the folder waits for that.
	if d, err := os.Open(filepath.Dir(path)); err == nil {
		_, _ = d.Readdirnames(1)
		_ = d.Close() // it was only read
	}
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	return err != nil || !strings.HasSuffix(name, removed) || strings.HasSuffix(path, removed)
}
