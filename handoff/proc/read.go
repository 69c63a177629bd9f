package proc

import (
	"io/fs"
	"strconv"
	"syscall"
)

// maxRead bounds what is read of a file of a process: its environment and arguments are the longest.
const maxRead = 1 << 20

// Read reads a file of a process, as in proc(5): its first MiB at most, and a little more. Package os would ask the system
// first whether it can wait for such a file without a thread, which takes longer than all else here. The system fills what
// it is given to fill, so that less is the end.
func Read(proc string, pid int, name string) (data []byte, err error) {
	path := proc + "/" + strconv.Itoa(pid) + "/" + name
	fail := func(op string, err error) ([]byte, error) { return nil, &fs.PathError{Op: op, Path: path, Err: err} }
	fd, err := Again(func() (int, error) { return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) })
	if err != nil {
		return fail("open", err)
	}
	defer func() { _ = syscall.Close(fd) }()
	data = make([]byte, 0, 1024)
	for {
		n, err := Again(func() (int, error) { return syscall.Read(fd, data[len(data):cap(data)]) })
		if err != nil {
			return fail("read", err)
		}
		if data = data[:len(data)+n]; len(data) < cap(data) || len(data) > maxRead {
			return data, nil
		}
		data = append(data, 0)[:len(data)]
	}
}

// Again makes a call of the system until no signal interrupts it.
func Again(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); err != syscall.EINTR {
			return n, err
		}
	}
}
