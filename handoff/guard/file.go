package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sm/handoff/files"
)

const (
	// Folder is the folder of a project's sessions. Each session has a folder
	// in it with StateFile and DocumentFile.
	Folder = "sessions"
	// StateFile is the name of a session's state file.
	StateFile = ".state.json"
	// DocumentFile is the name of a session's document.
	DocumentFile = "DEHYDRATED_CONTEXT.md"

	// maxGuardFile limits a state file, in bytes; sm writes a few hundred
	// bytes.
	maxGuardFile = 1 << 20
)

// ErrDamaged means that a file is not a valid state file.
var ErrDamaged = files.ErrDamaged

// Read reads a state file. It follows no link, does not wait for a pipe, and
// refuses files of other users. Errors wrap fs.ErrNotExist for a missing and
// ErrDamaged for an unsuitable file.
func Read(path string) (*State, error) {
	text, err := files.Read(path, maxGuardFile)
	if err != nil {
		return nil, err
	}
	s, err := ParseState(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrDamaged, err)
	}
	return s, nil
}

// errUnchanged ends an update without storing a change.
var errUnchanged = errors.New("unchanged")

// Update changes a state file under its lock. f changes the present state,
// which then replaces the file in one step and is on disk when Update returns.
// If f fails, nothing changes. ctx limits the wait for other writers.
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

// writeGuard replaces a state file and keeps its mode. The caller holds the
// lock.
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
	if err := files.Write(root, name, text, mode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// lockedGuard runs f on the folder of a state file while it holds the file's
// lock.
func lockedGuard(ctx context.Context, path string, f func(*os.Root) error) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("state of a session: %w", err)
	}
	defer root.Close()
	lock, err := files.Lock(ctx, root, filepath.Base(path)+".lock")
	if err != nil {
		return fmt.Errorf("lock %s, which another process may have locked: %w", path, err)
	}
	defer lock.Close()
	return f(root)
}
