//go:build unix

package follow

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

type inode struct{ dev, ino uint64 }

// stamp identifies the content of a file.
type stamp struct {
	inode
	size     int64
	modified int64 // in nanoseconds since 1970
}

// freshFor is how long a file's modification time may hide another change: file
// systems stamp with the resolution of the kernel's tick.
const freshFor = 20 * time.Millisecond

// settled is the modification time to remember: negative, and so never the same
// again, when the file has been written so lately that it may be written once more
// under the same time.
func (s stamp) settled() int64 {
	if time.Now().UnixNano()-s.modified > int64(freshFor) {
		return s.modified
	}
	return -s.modified
}

// fact is what stat shows of a file.
type fact struct {
	stamp
	kind uint32 // S_IFREG and others
	uid  int
	// alone means that a file has no second name.
	alone bool
}

func factOf(st *unix.Stat_t) fact {
	kind := uint32(st.Mode) & unix.S_IFMT
	return fact{
		stamp: stamp{
			inode:    inode{uint64(st.Dev), uint64(st.Ino)},
			size:     st.Size,
			modified: unix.TimespecToNsec(st.Mtim),
		},
		kind:  kind,
		uid:   int(st.Uid),
		alone: kind == unix.S_IFDIR || st.Nlink == 1,
	}
}

// ours reports whether it belongs to this user, under no second name: of another
// user's file that would be a hard link.
func (f fact) ours() bool { return f.alone && f.uid == os.Geteuid() }

func (f fact) isRegular() bool { return f.kind == unix.S_IFREG }
func (f fact) isDir() bool     { return f.kind == unix.S_IFDIR }
func (f fact) isLink() bool    { return f.kind == unix.S_IFLNK }

func stat(path string) (fact, error)  { return statIn(nil, path, 0) }
func lstat(path string) (fact, error) { return statIn(nil, path, unix.AT_SYMLINK_NOFOLLOW) }

// statIn is stat of a name in an open folder, which the kernel finds sooner than a path;
// nil for none.
func statIn(dir *os.File, name string, flags int) (fact, error) {
	var st unix.Stat_t
	at := unix.AT_FDCWD
	if dir != nil {
		at = int(dir.Fd())
	}
	err := error(unix.EINTR)
	for err == unix.EINTR {
		err = unix.Fstatat(at, name, &st, flags)
	}
	return factOf(&st), err
}

// isGone reports whether nothing has a path any more.
func isGone(path string) bool {
	_, err := lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// open opens a regular file for reading, and nothing else: not a link, and without
// waiting for the other end of a pipe.
func open(path string) (*os.File, fact, error) {
	file, err := os.OpenFile(
		path,
		os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_CLOEXEC,
		0,
	)
	if err != nil {
		return nil, fact{}, err
	}
	var st unix.Stat_t
	err = unix.Fstat(int(file.Fd()), &st)
	is := factOf(&st)
	if err == nil && !is.isRegular() {
		err = errNotRegular
	}
	if err != nil {
		file.Close()
		return nil, fact{}, err
	}
	return file, is, nil
}

// list opens a folder, and gives what is in it in the order of names. What was
// read before an error is given, too.
func list(dir string) (*os.File, []fs.DirEntry, error) {
	open, err := os.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	entries, err := open.ReadDir(-1)
	slices.SortFunc(
		entries,
		func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) },
	)
	return open, entries, err
}
