package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"sm/handoff/files"
)

const (
	// Folder is a project's folder of sessions; each has a folder with these two files.
	Folder       = "sessions"
	StateFile    = ".state.json"
	DocumentFile = "DEHYDRATED_CONTEXT.md"

	// maxGuardFile limits a state file; ours have a few hundred bytes.
	maxGuardFile = 1 << 20
)

// ErrDamaged means that a path is not that of a valid state file.
var ErrDamaged = errors.New("not a state file")

// Read reads a state file. It follows no link, waits for no pipe and refuses files of other
// users. Errors wrap fs.ErrNotExist or ErrDamaged where that is the cause.
func Read(path string) (*State, error) {
	text, err := readOwn(path)
	if err != nil {
		return nil, err
	}
	s, err := ParseState(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrDamaged, err)
	}
	return s, nil
}

func readOwn(path string) ([]byte, error) {
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
	case !files.Own(info):
		return nil, fmt.Errorf("%s: %w: it belongs to another user", path, ErrDamaged)
	case info.Size() > maxGuardFile:
		return nil, fmt.Errorf("%s: %w: larger than %d bytes", path, ErrDamaged, maxGuardFile)
	}
	return io.ReadAll(io.LimitReader(f, maxGuardFile+1))
}

// errUnchanged ends an update without a change.
var errUnchanged = errors.New("unchanged")

// Update changes a state file under its lock: f changes the present state, which then
// replaces the file in one step and is on disk when Update returns. If f fails nothing
// changes. ctx limits the wait for other writers.
func Update(ctx context.Context, path string, f func(*State) error) error {
	return lockedGuard(ctx, path, func(root *os.Root) error {
		s, err := Read(path)
		if err != nil {
			return err
		}
		if err := f(s); err != nil {
			if errors.Is(err, errUnchanged) {
				return nil
			}
			return err
		}
		return writeGuard(root, path, s)
	})
}

// writeGuard replaces a state file. The caller has the lock, so the new file can have a
// fixed name, and one that a kill has left is replaced.
func writeGuard(root *os.Root, path string, s *State) error {
	text, err := s.Encode()
	if err != nil {
		return err
	}
	name := filepath.Base(path)
	mode := fs.FileMode(0o600)
	if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
		mode = info.Mode().Perm()
	}
	fresh := name + ".new"
	err = root.Remove(fresh)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = files.Put(root, fresh, text, mode)
	}
	if err == nil {
		err = root.Rename(fresh, name)
	}
	if err != nil {
		_ = root.Remove(fresh) // else the next write does
		return guardError("write", path, err)
	}
	return files.Sync(root)
}

// guardError puts the path of the state file into an error about a name in its folder.
func guardError(op, path string, err error) error {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err
	} else if inner, ok := errors.AsType[*os.LinkError](err); ok {
		err = inner.Err
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// lockedGuard runs f on the folder of a state file while it has the file's lock.
func lockedGuard(ctx context.Context, path string, f func(*os.Root) error) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return guardError("open", path, err)
	}
	defer root.Close()
	lock, err := files.Lock(ctx, root, filepath.Base(path)+".lock")
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%s is locked by another process: %w", path, ctx.Err())
	case err != nil:
		return guardError("lock", path, err)
	}
	defer lock.Close()
	return f(root)
}
