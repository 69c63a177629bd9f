package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"sm/dashboards/screen/plain"
	"sm/handoff/files"
)

// A File is a settings file, or our skill, as it was read. The client writes it as well,
// so it is replaced only if it has not changed since.
type File struct {
	Path   string // of the client
	target string // path without links
	text   []byte // nil if it does not exist
	info   fs.FileInfo
}

// ReadFile reads a settings file. One that does not exist is empty.
func ReadFile(path string) (*File, error) {
	f := &File{Path: path, target: path}
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return nil, fmt.Errorf("%s is a link to nothing; remove it, or restore what it points to",
				path)
		}
		return f, nil
	}
	if err == nil {
		f.target = target
		f.info, err = os.Stat(target)
	}
	if err == nil && !f.info.Mode().IsRegular() { // a pipe would wait for its other end
		return nil, fmt.Errorf("%s is not a file; move it away", path)
	}
	if err == nil {
		f.text, err = os.ReadFile(target)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; check its owner and mode", path, files.Plain(err))
	}
	return f, nil
}

// Exists reports whether the file existed when it was read.
func (f *File) Exists() bool { return f.text != nil }

// Writable returns why the file cannot be replaced. A read-only mode counts for root as well.
func (f *File) Writable() error {
	if f.info != nil {
		if f.info.Mode().Perm()&0o200 == 0 {
			return fmt.Errorf("%s is read-only; run chmod u+w %s", f.Path, plain.ShellQuote(f.target))
		}
		if !files.Own(f.info) {
			return fmt.Errorf("%s belongs to another user; run sm as that user", f.Path)
		}
	}
	dir := filepath.Dir(f.target)
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it will be made
	}
	if err != nil {
		return fmt.Errorf("%s: %w; check its owner and mode", dir, files.Plain(err))
	}
	if info.Mode().Perm()&0o200 == 0 || unix.Access(dir, unix.W_OK|unix.X_OK) != nil {
		return fmt.Errorf("the directory %s is read-only; make it writable", dir)
	}
	return nil
}

// changes reports whether a text, nil for no file, differs from the file's.
func (f *File) changes(text []byte) bool {
	return (text == nil) != (f.text == nil) || !bytes.Equal(text, f.text)
}

// errChanged reports that the file was written by another program since it was read.
var errChanged = errors.New("the file has changed meanwhile; close the sessions that write to it and try again")

// replace replaces the file, or removes it for a text that is nil, unless it has changed.
func (f *File) replace(text []byte) error {
	now, err := ReadFile(f.Path)
	if err != nil || now.target != f.target || now.changes(f.text) {
		return fmt.Errorf("%s: %w", f.Path, errors.Join(errChanged, err))
	}
	if text == nil {
		return os.Remove(f.target) // its error has the path
	}
	mode := fs.FileMode(0o600)
	if f.info != nil {
		mode = f.info.Mode().Perm()
	}
	return writeWhole(f.target, text, mode)
}

// writeWhole replaces a file at once, also in a power failure.
func writeWhole(path string, text []byte, mode fs.FileMode) error {
	if err := files.Replace(path, text, mode); err != nil {
		return fmt.Errorf("write into %s: %w; check its owner, mode and free space",
			filepath.Dir(path), files.Plain(err))
	}
	return nil
}
