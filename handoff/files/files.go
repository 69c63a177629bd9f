// Package files reads and replaces the small files of handoff documents and
// guarded sessions, under a lock between processes.
//
// Invariants: a lock ends with its process; data is on disk when Write returns;
// SetAside deletes nothing. Names are relative to an os.Root, so that no link
// leads out of the folder.
package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// ErrDamaged means that this program has not written the file in its present
// form.
var ErrDamaged = errors.New("not a valid file")

// Read reads a regular file of this user of at most limit bytes. It follows no
// link and does not wait for a pipe. Errors wrap fs.ErrNotExist for a missing
// and ErrDamaged for an unsuitable file.
func Read(path string, limit int64) ([]byte, error) {
	damaged := func(why string) ([]byte, error) {
		return nil, fmt.Errorf("%s: %w: %s", path, ErrDamaged, why)
	}
	f, info, err := OpenRegular(path, syscall.O_NOFOLLOW)
	switch {
	case errors.Is(err, errIrregular),
		errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO): // a link, a socket
		return damaged("it is not a regular file")
	case err != nil:
		return nil, err
	}
	defer f.Close()

	switch {
	case !Own(info):
		return damaged("it belongs to another user")
	case info.Size() > limit:
		return damaged(fmt.Sprintf("it is larger than %d bytes", limit))
	}
	return io.ReadAll(io.LimitReader(f, limit+1))
}

var errIrregular = errors.New("not a regular file")

// OpenRegular opens a regular file for reading, with further flags of open(2).
// It does not wait for a pipe.
func OpenRegular(path string, flags int) (f *os.File, info fs.FileInfo, err error) {
	f, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|flags, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err = f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// maxSmall limits the size of a file that ReadSmall reads.
const maxSmall = 1 << 20

// ReadSmall reads a regular file of at most 1 MiB, of any owner. It does not
// wait for a pipe. Errors do not name the path.
func ReadSmall(path string) ([]byte, error) {
	f, _, err := OpenRegular(path, 0)
	if err != nil {
		return nil, Plain(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSmall+1))
	if len(text) > maxSmall {
		return nil, errors.New("larger than 1 MiB")
	}
	return text, Plain(err)
}

// OpenPrivate opens a directory that it creates and checks like PrivateDir.
// Names in the result refer to the checked directory, even if another one has
// got the path since.
func OpenPrivate(dir, advice string) (*os.Root, error) {
	if err := PrivateDir(dir, advice); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".")
	if err == nil && (!Own(info) || info.Mode().Perm()&0o022 != 0) {
		err = fmt.Errorf("%s has been replaced; %s", dir, advice)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// PrivateDir creates a directory if it does not exist, and checks that it
// belongs to this user and that no other user can write to it. An error ends
// with advice.
func PrivateDir(dir, advice string) error {
	made := os.MkdirAll(dir, 0o700)
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("%w; %s", cmp.Or(made, err), advice)
	}
	fault := ""
	mode := info.Mode()
	switch {
	case mode&fs.ModeSymlink != 0:
		fault = "is a symbolic link"
	case !mode.IsDir():
		fault = "is not a directory"
	case !Own(info):
		fault = "belongs to another user"
	case mode.Perm()&0o022 != 0:
		fault = fmt.Sprintf("can be written by others (mode %04o)", mode.Perm())
		advice = fmt.Sprintf("run chmod 700 %s, or %s", dir, advice)
	default:
		return nil
	}
	return fmt.Errorf("%s %s; %s", dir, fault, advice)
}

// IsDir reports whether a path is a folder, or a link to one.
func IsDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Own reports whether a file belongs to the user of this process.
func Own(info fs.FileInfo) bool {
	return int(info.Sys().(*syscall.Stat_t).Uid) == os.Geteuid()
}

// Plain returns an error without the path, for a caller that names the path
// itself.
func Plain(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// Same reports whether two paths lead to one file.
func Same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// lockPause is the pause between two attempts to take a lock. A change takes
// about as long as a disk needs to sync.
const lockPause = 4 * time.Millisecond

// Lock waits for the lock on a file in root, until ctx ends. The system
// releases the lock when its process ends. The file is never removed, since the
// next process would lock another file.
func Lock(ctx context.Context, root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		}
	}
}

// Replace replaces a file in one step, and creates its folder if it does not
// exist. No two callers may replace a file at the same time.
func Replace(path string, data []byte, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return Write(root, filepath.Base(path), data, mode)
}

// Write replaces a file in one step. The caller holds a lock, so the new file
// can have a fixed name, and a file that a killed process left under it is
// replaced.
func Write(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	fresh := name + ".new"
	err := Put(root, fresh, data, mode)
	if err == nil {
		err = root.Rename(fresh, name)
	}
	if err != nil {
		_ = root.Remove(fresh) // otherwise the next Write does it
		return err
	}
	return Sync(root)
}

// Put writes a new file to disk. It replaces a file that a killed process left
// under the name.
func Put(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	if err := root.RemoveAll(name); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
}

// Sync makes the names in a folder durable. It ignores that some network file
// systems cannot do so.
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

// RemoveEmpty removes a folder if it is empty, and then its parents that have
// become empty, up to but without the folders in below. Links stay.
func RemoveEmpty(dir string, below ...string) {
	for !slices.Contains(below, dir) {
		if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
		dir = filepath.Dir(dir)
	}
}

// SetAside renames a damaged file, so that programs no longer find it and a
// person can.
func SetAside(root *os.Root, name string, now time.Time) (string, error) {
	base := name + ".damaged-" + now.UTC().Format("20060102-150405")
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
