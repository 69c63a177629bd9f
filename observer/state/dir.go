package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// openDir makes the directory when there is none, checks that nobody else can
// write to it, and opens it: from then on it is this directory that is used, whatever
// its path comes to mean.
func openDir(dir string) (*os.Root, error) {
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("make state directory: %w; choose another with --state", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w; choose another with --state", err)
	}
	if err := checkDir(dir, info); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open state directory: %w; choose another with --state", err)
	}
	opened, err := root.Stat(".")
	if err != nil || !os.SameFile(info, opened) {
		root.Close()
		return nil, fmt.Errorf(
			"state directory %s was replaced while it was opened; start again",
			dir,
		)
	}
	return root, nil
}

func checkDir(dir string, info fs.FileInfo) error {
	owner := uint32(os.Geteuid())
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = st.Uid
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return fmt.Errorf(
			"state directory %s is a symbolic link; name the directory itself with --state",
			dir,
		)
	case !mode.IsDir():
		return fmt.Errorf(
			"state directory %s is not a directory; move it away, or choose another with --state",
			dir,
		)
	case owner != uint32(os.Geteuid()):
		return fmt.Errorf(
			"state directory %s belongs to uid %d; choose another with --state",
			dir,
			owner,
		)
	case mode.Perm()&0o022 != 0:
		return fmt.Errorf(
			"state directory %s can be written by others (mode %04o); run: chmod 700 %s",
			dir,
			mode.Perm(),
			dir,
		)
	}
	return nil
}

// makeDir makes the directory and the missing ones above it, mode 0700 whatever the
// umask says. A directory that is there stays as it is.
func makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		if err := makeDir(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	return syncDir(os.Open(filepath.Dir(dir)))
}

// syncDir makes the names in a directory durable, and closes it. Some network file
// systems cannot, and there is nothing else to do about it.
func syncDir(d *os.File, err error) error {
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

// regular says whether a name is a plain file: opening a FIFO would block, and a
// symbolic link would lead out of our care.
func regular(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file (%s); move it away, or choose another directory with --state",
			filepath.Join(root.Name(), name), info.Mode().Type())
	}
	return nil
}
