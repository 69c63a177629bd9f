package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const lockName = "lock"

// A process that finds the lock taken, but no pid of a running process in it, tries
// again. The holder writes its pid only after it has the lock, and a program that an
// observer was starting when it was killed holds the lock until it runs.
const (
	lockTries = 1000
	lockPause = 2 * time.Millisecond
)

// LockedError reports that another process uses the state directory.
type LockedError struct {
	Dir string
	PID int // 0 if unknown
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf(
			"state directory %s is in use by another observer; stop it, or choose another with --state",
			e.Dir,
		)
	}
	return fmt.Sprintf(
		"state directory %s is in use by the observer with pid %d; stop it, or choose another with --state",
		e.Dir,
		e.PID,
	)
}

// takeLock locks the directory for this process. The lock file is never
// removed: with the name gone, a second process would lock another file of that name
// while the first still held its own.
func takeLock(root *os.Root, dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	for range lockTries {
		f, holder, err := tryLock(root, path)
		switch {
		case err != nil:
			return nil, fmt.Errorf(
				"lock state directory: %w; choose another with --state",
				err,
			)
		case f != nil:
			return f, nil
		case holder > 0:
			return nil, &LockedError{dir, holder}
		}
		time.Sleep(lockPause)
	}
	return nil, &LockedError{Dir: dir}
}

// tryLock returns the locked file or the pid of the process that holds it. It
// returns neither if the file was replaced meanwhile or has no pid yet.
func tryLock(root *os.Root, path string) (_ *os.File, holder int, _ error) {
	if err := regular(root, lockName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	f, err := root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, err
	}
	switch err := flock(f); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		holder = lockHolder(f)
		f.Close()
		return nil, holder, nil
	case err != nil:
		f.Close()
		return nil, 0, fmt.Errorf("flock %s: %w", path, err)
	}
	if checkName(f, path) != nil {
		f.Close()
		return nil, 0, nil
	}
	// On a full disk the lock works without the pid.
	_ = f.Chmod(0o600)
	_, _ = f.WriteAt(fmt.Appendf(nil, "%-20d\n", os.Getpid()), 0)
	return f, 0, nil
}

func flock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// lockHolder reads the pid of the process that holds the lock, 0 if it is missing or
// that of a process that has ended.
func lockHolder(f *os.File) int {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 64))
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(b), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return 0
	}
	return pid
}

// checkName returns an error if path no longer names the open file f.
func checkName(f *os.File, path string) error {
	held, err := f.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s was removed", path)
	case err != nil:
		return err
	case !os.SameFile(held, named):
		return fmt.Errorf("%s was replaced", path)
	}
	return nil
}

// releaseLock clears the pid first, so that no error names a process that has
// released the directory.
func releaseLock(f *os.File) error {
	_ = f.Truncate(0)
	return f.Close()
}
