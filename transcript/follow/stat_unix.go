//go:build unix

package follow

import (
	"io/fs"
	"os"
	"syscall"
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
