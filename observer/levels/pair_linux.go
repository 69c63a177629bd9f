package levels

import (
	"os"

	"golang.org/x/sys/unix"
)

// reopen opens the file of an agent before the present one for writing, and returns
// its size. The kernel grants a write lease only if no other process has the file
// open: so no reader sees it half written, and a new reader waits. A file with another
// name, owner or mode by now is not written.
func reopen(path string) (fd int, size int64, err error) {
	if fd, err = open(path, 0); err != nil {
		return fd, 0, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && (st.Mode != unix.S_IFREG|0o600 || st.Nlink != 1 || int(st.Uid) != os.Geteuid()) {
		err = unix.EPERM
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK) // ends with fd
	}
	if err != nil {
		_ = unix.Close(fd)
	}
	return fd, st.Size, err
}

// replace puts a new file in the place of an agent's, which then has the new one's name.
func replace(path, fresh string) error {
	var st unix.Stat_t
	if unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG &&
		unix.Renameat2(unix.AT_FDCWD, fresh, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE) == nil {
		return nil
	}
	return unix.Rename(fresh, path)
}
