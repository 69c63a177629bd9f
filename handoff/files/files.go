// Package files holds what handoff documents and the states of guarded sessions share: a
// lock between processes, files that appear whole or not at all, damaged files that are set
// aside, and JSON objects that keep members of other programs.
//
// Invariants: a lock ends with its process; what Put has written is on disk when it returns;
// SetAside deletes nothing. Names are relative to an os.Root, so that no link leads out of
// the folder.
package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// ErrIrregular means that a name is not that of a regular file.
var ErrIrregular = errors.New("it is not a regular file")

const (
	// lockPause is the first pause before a taken lock is tried again, maxLockPause the
	// longest: a change takes about as long as a disk needs to sync.
	lockPause    = time.Millisecond
	maxLockPause = 16 * time.Millisecond
)

// Lock waits for the lock on a file in root, until ctx ends. The system releases it when
// its process ends. The file is never removed: the next process would lock another one.
func Lock(ctx context.Context, root *os.Root, name string) (*os.File, error) {
	for pause := lockPause; ; pause = min(2*pause, maxLockPause) {
		f, err := tryLock(root, name)
		if f != nil || err != nil {
			return f, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryLock returns nil when another process has the lock, or when the file was removed
// meanwhile.
func tryLock(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	held, err := f.Stat()
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err == nil {
		var named fs.FileInfo
		named, err = root.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = nil // it is created again
		case err != nil:
		case !named.Mode().IsRegular():
			err = fmt.Errorf("%s: %w", name, ErrIrregular)
		case os.SameFile(held, named):
			return f, nil
		}
	}
	_ = f.Close() // nothing was written
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		err = nil
	}
	return nil, err
}

// Put creates a file whose content is on disk when it returns. There must be no file of
// that name. A rename then publishes it.
func Put(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if mode != 0o600 {
		err = errors.Join(err, f.Chmod(mode))
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Sync makes the names in a folder durable. Some network file systems cannot.
func Sync(root *os.Root) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

// asideLayout is the time in the name of a file that was set aside.
const asideLayout = "20060102-150405"

// SetAside renames a damaged file, so that only a human finds it.
func SetAside(root *os.Root, name string, now time.Time) (string, error) {
	base := name + ".damaged-" + now.UTC().Format(asideLayout) // at most 238 bytes
	aside := base
	for n := 2; ; n++ {
		_, err := root.Lstat(aside)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return "", err
		}
		aside = fmt.Sprintf("%s-%d", base, n)
	}
	return aside, root.Rename(name, aside)
}

// Own reports whether a file belongs to the user of this process.
func Own(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
