package proc

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// maxRead limits the bytes read from a file of a process.
const maxRead = 1 << 20

// Read reads a file of a process, see proc(5), at most its first MiB. os.Open
// would register the file for polling first, which takes longer than everything
// else.
func Read(proc string, pid int, name string) ([]byte, error) {
	path := filepath.Join(proc, strconv.Itoa(pid), name)
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{
			Op:   "open",
			Path: path,
			Err:  err,
		}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxRead))
}
