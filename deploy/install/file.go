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

// A File is the content of a settings file, or of sm's skill, when it was read.
// The client writes the settings too, so a file is replaced only if it has not
// changed since.
type File struct {
	Path   string // by which the client opens it
	target string // Path without links
	text   []byte // nil if it does not exist
	info   fs.FileInfo
}

// ReadFile reads a settings file. A missing file counts as empty.
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
	if err == nil && !f.info.Mode().IsRegular() { // reading a pipe would block
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

// Writable returns an error if the file cannot be replaced. A read-only mode
// counts for root too.
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
		return nil // it will be created
	}
	if err != nil {
		return fmt.Errorf("%s: %w; check its owner and mode", dir, files.Plain(err))
	}
	if info.Mode().Perm()&0o200 == 0 || unix.Access(dir, unix.W_OK|unix.X_OK) != nil {
		return fmt.Errorf("the directory %s is read-only; make it writable", dir)
	}
	return nil
}

// changes reports whether text differs from the file. A nil text means no file.
func (f *File) changes(text []byte) bool {
	return (text == nil) != (f.text == nil) || !bytes.Equal(text, f.text)
}

// errChanged means that another program has written the file since it was read.
var errChanged = errors.New("the file has changed meanwhile; close the sessions that write to it and try again")

// replace replaces the file by text, or removes it if text is nil. It returns
// an error if the file has changed.
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

// writeWhole replaces a file atomically, even in a power failure.
func writeWhole(path string, text []byte, mode fs.FileMode) error {
	if err := files.Replace(path, text, mode); err != nil {
		return fmt.Errorf("write into %s: %w; check its owner, mode and free space",
			filepath.Dir(path), files.Plain(err))
	}
	return nil
}
