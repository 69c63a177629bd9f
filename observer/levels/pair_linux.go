package levels

import (
	"os"

	"golang.org/x/sys/unix"
)

// reopen opens the file that was an agent's before the present one, to be written over, and gives its size. The kernel lends
// it out to one who writes only if nobody else has it open: so no reader sees what is written, and one who comes just now
// waits. What has got another name, owner or mode meanwhile is not written to.
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
