package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"sm/deploy/jsonedit"
)

// maxSettings limits the size of a settings file.
const maxSettings = 16 << 20

// A File is a settings file, or our skill, as it was read. The client writes it as well,
// so it is replaced only if it has not changed since.
type File struct {
	path   string // of the client
	target string // path without links
	text   []byte
	info   fs.FileInfo // nil if it does not exist
}

// ReadFile reads a settings file. One that does not exist is empty.
func ReadFile(path string) (*File, error) {
	f := &File{path: path, target: path}
	target, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil:
		f.target = target
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w; check the path", path, PlainError(err))
	default:
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("%s is a link to nothing; remove it, or restore what it points to", path)
		}
		return f, nil
	}
	if f.info, err = os.Stat(f.target); err != nil {
		return nil, fmt.Errorf("%s: %w; check its owner and mode", path, PlainError(err))
	}
	if !f.info.Mode().IsRegular() { // before it is opened: a pipe would wait for its other end
		return nil, fmt.Errorf("%s is not a file; move it away", path)
	}
	file, err := os.Open(f.target)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; check its owner and mode", path, PlainError(err))
	}
	defer file.Close()
	if f.text, err = io.ReadAll(io.LimitReader(file, maxSettings+1)); err != nil {
		return nil, fmt.Errorf("%s: %w; check the disk", path, PlainError(err))
	}
	if len(f.text) > maxSettings {
		return nil, fmt.Errorf("%s is larger than %d bytes; is it the settings file?", path, maxSettings)
	}
	return f, nil
}

// PlainError returns an error without the path, which the caller names.
func PlainError(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// byteOrderMark is at the beginning of files of some editors; JSON has none.
const byteOrderMark = "\uFEFF"

// Parse parses the file's text.
func (f *File) Parse() (*jsonedit.Text, error) {
	doc, err := jsonedit.Parse(settingsBody(f.text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w; correct the file, it is untouched", f.path, err)
	}
	return doc, nil
}

// edited returns the file's text after an edit.
func (f *File) edited(edit func(*jsonedit.Text) error) ([]byte, error) {
	doc, err := f.Parse()
	if err != nil {
		return nil, err
	}
	body := doc.Bytes
	if err := edit(doc); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	switch {
	case bytes.Equal(doc.Bytes, body): // an empty file stays one
		return f.text, nil
	case bytes.HasPrefix(f.text, []byte(byteOrderMark)):
		return append([]byte(byteOrderMark), doc.Bytes...), nil
	}
	return doc.Bytes, nil
}

// Writable returns why the file cannot be replaced. A read-only mode counts for root as well.
func (f *File) Writable() error {
	dir := filepath.Dir(f.target)
	if f.info != nil {
		if f.info.Mode().Perm()&0o200 == 0 {
			return fmt.Errorf("%s is read-only; run chmod u+w %s", f.path, ShellQuote(f.target))
		}
		if owner := ownerOf(f.info); owner != os.Geteuid() {
			return fmt.Errorf("%s belongs to uid %d; run sm as that user", f.path, owner)
		}
	}
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it will be made
	}
	if err != nil {
		return fmt.Errorf("%s: %w; check its owner and mode", dir, PlainError(err))
	}
	if info.Mode().Perm()&0o200 == 0 || unix.Access(dir, unix.W_OK|unix.X_OK) != nil {
		variable := "CLAUDE_CONFIG_DIR"
		if filepath.Base(f.path) == codexFile {
			variable = "CODEX_HOME"
		}
		return fmt.Errorf("the directory %s is read-only; make it writable, or set %s", dir, variable)
	}
	return nil
}

func ownerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

// errChanged reports that the file was written by another program since it was read.
var errChanged = errors.New("the file has changed meanwhile")

// write replaces the file, unless it has changed.
func (f *File) write(text []byte) error {
	mode := fs.FileMode(0o600)
	if f.info != nil {
		mode = f.info.Mode().Perm()
	}
	return writeWhole(f.target, text, mode, f.unchanged)
}

// unchanged returns an error if the file is not as it was read.
func (f *File) unchanged() error {
	now, err := ReadFile(f.path)
	if err != nil || now.target != f.target || !bytes.Equal(now.text, f.text) || (now.info == nil) != (f.info == nil) {
		return errors.Join(errChanged, err)
	}
	return nil
}

// remove removes the file, unless it has changed.
func (f *File) remove() error {
	if err := f.unchanged(); err != nil {
		return err
	}
	if err := os.Remove(f.target); err != nil {
		return fmt.Errorf("remove %s: %w; check its owner and mode", f.target, PlainError(err))
	}
	return nil
}

func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Exists reports whether the file existed when it was read.
func (f *File) Exists() bool { return f.info != nil }
