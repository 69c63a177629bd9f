package levels

import (
	"os"

	"golang.org/x/sys/unix"
)

// reopen opens a file for writing, unless it is not a regular file or another
// program has it open: then the lease is refused.
func reopen(path string) (fd int, err error) {
	const flags = unix.O_WRONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	if fd, err = unix.Open(path, flags, 0); err != nil {
		return 0, err
	}
	if _, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		_ = unix.Close(fd)
	}
	return fd, err
}

// replace moves the file fresh to path. The old file gets the name of fresh if
// it exists and the file system can exchange files.
func replace(fresh, path string) error {
	if unix.Renameat2(unix.AT_FDCWD, fresh, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE) == nil {
		return nil
	}
	return os.Rename(fresh, path)
}
