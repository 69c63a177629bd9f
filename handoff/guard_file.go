package handoff

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// GuardFolder is the folder of a project with a folder for each session, GuardFile the
	// name of the state in there, GuardDocument that of the document.
	GuardFolder   = "sessions"
	GuardFile     = ".state.json"
	GuardDocument = "DEHYDRATED_CONTEXT.md"

	// maxGuardFile bounds a state file; ours have a few hundred bytes.
	maxGuardFile = 1 << 20
)

// ErrDamaged says that what stands at the place of a state file is not one.
var ErrDamaged = errors.New("not a state file")

// ReadGuard reads a state file. It follows no link, waits for no pipe, and believes nobody
// else's file. Errors wrap fs.ErrNotExist or ErrDamaged where that is the cause.
func ReadGuard(path string) (*GuardState, error) {
	text, err := readOwn(path, maxGuardFile)
	if err != nil {
		return nil, err
	}
	s, err := ParseGuardState(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrDamaged, err)
	}
	return s, nil
}

func readOwn(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO): // a link, a socket
		return nil, fmt.Errorf("%s: %w: not a regular file", path, ErrDamaged)
	case err != nil:
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w: not a regular file", path, ErrDamaged)
	case !own(info):
		return nil, fmt.Errorf("%s: %w: it belongs to another user", path, ErrDamaged)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s: %w: larger than %d bytes", path, ErrDamaged, limit)
	}
	return io.ReadAll(io.LimitReader(f, limit+1))
}

func own(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// errUnchanged ends an update that has nothing to write.
var errUnchanged = errors.New("unchanged")

// UpdateGuard changes a state file, alone: f gets what stands there now, and what it makes
// of it replaces the file in one step, on disk when UpdateGuard returns. An error of f is
// returned and changes nothing. ctx bounds the waiting for other writers.
func UpdateGuard(ctx context.Context, path string, f func(*GuardState) error) error {
	return lockedGuard(ctx, path, func() error {
		s, err := ReadGuard(path)
		if err != nil {
			return err
		}
		return changeGuard(path, s, f)
	})
}

// changeGuard is UpdateGuard for who has the lock.
func changeGuard(path string, s *GuardState, f func(*GuardState) error) error {
	if err := f(s); err != nil {
		if errors.Is(err, errUnchanged) {
			return nil
		}
		return err
	}
	return writeGuard(path, s)
}

// writeGuard replaces a state file for who has the lock, so that one name does for the new
// file: what a kill has left there is in nobody's way.
func writeGuard(path string, s *GuardState) (err error) {
	text, err := s.Encode()
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		mode = info.Mode().Perm()
	}
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, bytes.NewReader(text))
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

const (
	// guardPause is how soon a lock that is taken is tried again at first, guardPauseMost
	// the longest: an update takes about as long as a disk needs to sync.
	guardPause     = time.Millisecond
	guardPauseMost = 8 * time.Millisecond
)

// lockedGuard runs f while nobody else of us changes the state file. The lock file is never
// removed: with the name gone a second writer would lock another file of that name.
func lockedGuard(ctx context.Context, path string, f func() error) error {
	for pause := guardPause; ; pause = min(2*pause, guardPauseMost) {
		lock, err := tryGuardLock(path + ".lock")
		if err != nil {
			return err
		}
		if lock != nil {
			defer lock.Close()
			return f()
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return fmt.Errorf("%s is locked by another process: %w", path, ctx.Err())
		}
	}
}

// tryGuardLock gives the locked file, or nil when another one has it.
func tryGuardLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("lock %s: not a regular file", path)
	}
	for err == nil {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EINTR) {
			break
		}
		err = nil
	}
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		f.Close()
		return nil, nil
	case err != nil:
		f.Close()
		return nil, err
	}
	if named, err := os.Lstat(path); err != nil || !os.SameFile(info, named) { // removed or replaced meanwhile
		f.Close()
		return nil, nil
	}
	return f, nil
}

// setAside gives what stands at the place of a state file another name beside it.
func setAside(path string, now time.Time) (kept string, err error) {
	kept = path + now.UTC().Format(".damaged-20060102T150405.000000000Z")
	return kept, os.Rename(path, kept)
}
