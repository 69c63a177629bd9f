package state

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const lockName = "lock"

// openRegular opens a file and makes it private. Opening a FIFO would block.
func openRegular(root *os.Root, name string, flags int) (*os.File, error) {
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file (%s); move it away, or choose another directory with --state",
			filepath.Join(root.Name(), name), info.Mode().Type())
	}
	f, err := root.OpenFile(name, flags, 0o600)
	if err == nil {
		if err = f.Chmod(0o600); err != nil {
			f.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w; check its owner, or choose another directory with --state", err)
	}
	return f, nil
}

// takeLock locks the directory for this process. The lock file is never
// removed: a second process would create and lock another file of that name
// while the first still held its own.
func takeLock(root *os.Root) (*os.File, error) {
	f, err := openRegular(root, lockName, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("lock state directory: %w", err)
	}
	holder := "another observer"
	// The lock may be held while the file has no pid of a running process: the
	// holder writes its pid only after it has the lock, and a program that an
	// observer was starting when it was killed holds the lock until it runs.
	for range 1000 {
		err := flock(f)
		if err == nil {
			// On a full disk the lock works without a pid.
			_, _ = f.WriteAt(fmt.Appendf(nil, "%-20d\n", os.Getpid()), 0)
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
		}
		if pid := lockHolder(f); pid > 0 {
			holder = fmt.Sprintf("the observer with pid %d", pid)
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	f.Close()
	return nil, fmt.Errorf(
		"state directory %s is in use by %s; stop it, or choose another with --state",
		root.Name(),
		holder,
	)
}

func flock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// lockHolder reads the pid of the process that holds the lock. It is 0 if the
// file has none, or if that process has ended.
func lockHolder(f *os.File) int {
	var pid int
	_, err := fmt.Fscan(io.NewSectionReader(f, 0, 64), &pid)
	if err != nil || pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return 0
	}
	return pid
}
