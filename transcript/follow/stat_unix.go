//go:build unix

package follow

import (
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func inodeOf(info fs.FileInfo) inode {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return inode{uint64(st.Dev), uint64(st.Ino)}
	}
	return inode{}
}

// ours reports whether a file belongs to this user, under no second name: of another
// user's file that would be a hard link.
func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && (info.IsDir() || st.Nlink == 1)
}

// open opens a regular file for reading, and nothing else: not a link, and without
// waiting for the other end of a pipe.
func open(path string) (*os.File, fs.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// list opens a folder, and gives what is in it in the order of names. What was read before an error is given, too.
func list(dir string) (*os.File, []fs.DirEntry, error) {
	open, err := os.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	entries, err := open.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return open, entries, err
}

// fact has the results of stat that a search of thousands of files needs.
type fact struct {
	inode          inode
	size, modified int64 // modified is in nanoseconds since 1970
	regular, ours  bool
	linked         bool // it has another name
}

// statIn looks at a name in an open folder, or where that is nil at a path. It follows no link.
func statIn(dir *os.File, name string) (fact, error) {
	var st unix.Stat_t
	at := unix.AT_FDCWD
	err := error(unix.EINTR)
	if dir != nil {
		at = int(dir.Fd())
	}
	for err == unix.EINTR {
		err = unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	return fact{
		inode{uint64(st.Dev), uint64(st.Ino)}, st.Size, unix.TimespecToNsec(st.Mtim),
		st.Mode&unix.S_IFMT == unix.S_IFREG, int(st.Uid) == os.Geteuid() && st.Nlink == 1, st.Nlink > 1,
	}, err
}

// glance is a regular file opened for one look: a descriptor without what an os.File has for pipes and deadlines.
type glance struct {
	fd   int
	stat unix.Stat_t
}

// glanceAt opens a file as open does; the error is no more than that this failed.
func glanceAt(path string) (g glance, err error) {
	for err = unix.EINTR; err == unix.EINTR; {
		g.fd, err = unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return g, err
	}
	if err = unix.Fstat(g.fd, &g.stat); err == nil && g.stat.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errNotRegular
	}
	if err != nil {
		g.close()
	}
	return g, err
}

func (g *glance) close() { _ = unix.Close(g.fd) } // nothing was written

func (g *glance) inode() inode { return inode{uint64(g.stat.Dev), uint64(g.stat.Ino)} }

// modified is the time of the file as [modified] has it.
func (g *glance) modified() int64 {
	t := unix.TimespecToNsec(g.stat.Mtim)
	if time.Now().UnixNano()-t > int64(freshFor) {
		return t
	}
	return -t
}

// ReadAt reads as an os.File does.
func (g *glance) ReadAt(b []byte, at int64) (n int, err error) {
	for n < len(b) {
		m, err := unix.Pread(g.fd, b[n:], at+int64(n))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return n, err
		case m == 0:
			return n, io.EOF
		default:
			n += m
		}
	}
	return n, nil
}
