package proc

import (
	"io/fs"
	"strconv"
	"syscall"
)

// maxRead limits what is read of a file of a process.
const maxRead = 1 << 20

// Read reads a file of a process, see proc(5): little more than its first MiB at most. Package
// os would register the file for polling first, which takes longer than the rest. A short read
// is the end. No signal interrupts a read of /proc.
func Read(proc string, pid int, name string) (data []byte, err error) {
	path := proc + "/" + strconv.Itoa(pid) + "/" + name
	fail := func(op string, err error) ([]byte, error) {
		return nil, &fs.PathError{
			Op:   op,
			Path: path,
			Err:  err,
		}
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fail("open", err)
	}
	defer func() { _ = syscall.Close(fd) }()
	data = make([]byte, 0, 1024)
	for {
		n, err := syscall.Read(fd, data[len(data):cap(data)])
		if err != nil {
			return fail("read", err)
		}
		if data = data[:len(data)+n]; len(data) < cap(data) || len(data) > maxRead {
			return data, nil
		}
		data = append(data, 0)[:len(data)]
	}
}
