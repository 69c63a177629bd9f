//go:build unix

package follow

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

type inode struct{ dev, ino uint64 }

// stamp identifies the content of a file.
type stamp struct {
	inode
	size     int64
	modified int64 // in nanoseconds since 1970
}

// freshFor is how long a file's modification time may hide another change: file
// systems use the resolution of the kernel's tick.
const freshFor = 20 * time.Millisecond

// settled returns the modification time to store. If the file has been written
// so recently that another write may have the same time, the result is
// negative, and so differs from every later time.
func (s stamp) settled() int64 {
	if time.Now().UnixNano()-s.modified > int64(freshFor) {
		return s.modified
	}
	return -s.modified
}

// fact is the result of stat for a file.
type fact struct {
	stamp
	fs.FileMode
	// ours means that the file belongs to this user and has no second name,
	// which would be a hard link for a file of another user.
	ours bool
}

func (f fact) isLink() bool { return f.Type() == fs.ModeSymlink }

func stat(path string) (fact, error)  { return factOf(os.Stat(path)) }
func lstat(path string) (fact, error) { return factOf(os.Lstat(path)) }

func factOf(info fs.FileInfo, err error) (fact, error) {
	if err != nil {
		return fact{}, err
	}
	st := info.Sys().(*syscall.Stat_t)
	return fact{
		stamp: stamp{
			inode:    inode{uint64(st.Dev), st.Ino},
			size:     info.Size(),
			modified: info.ModTime().UnixNano(),
		},
		FileMode: info.Mode(),
		ours:     int(st.Uid) == os.Geteuid() && (info.IsDir() || st.Nlink == 1),
	}, nil
}

// isGone reports whether a path no longer exists.
func isGone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// open opens a regular file for reading, and nothing else: not a link, and without
// waiting for the other end of a pipe.
func open(path string) (*os.File, fact, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fact{}, err
	}
	is, err := factOf(file.Stat())
	if err == nil && !is.IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		file.Close()
		return nil, fact{}, err
	}
	return file, is, nil
}
