package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sm/deploy/jsonedit"
)

// maxSettings bounds a settings file.
const maxSettings = 16 << 20

// A settingsFile is a settings.json as it was read. The client writes it too, so what is written must have been read
// a moment ago.
type settingsFile struct {
	path   string // as the client names it
	target string // what it is when links are followed
	text   []byte
	info   fs.FileInfo // nil: not there yet
}

// settingsPath is the user's settings file.
func (env *environ) settingsPath() (string, error) {
	dir, _ := env.lookupEnv("CLAUDE_CONFIG_DIR")
	if strings.Contains(dir, ",") {
		return "", fmt.Errorf("CLAUDE_CONFIG_DIR names several directories; set it to the one with the settings")
	}
	if dir == "" {
		home, err := env.lookupEnv.Home()
		if err != nil {
			return "", fmt.Errorf("find the client's settings: %w", err)
		}
		dir = filepath.Join(home, ".claude")
	}
	dir, err := env.lookupEnv.ExpandHome(dir)
	if err != nil {
		return "", fmt.Errorf("CLAUDE_CONFIG_DIR: %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", fmt.Errorf("CLAUDE_CONFIG_DIR: %w; write an absolute path", err)
	}
	return filepath.Join(dir, "settings.json"), nil
}

// readSettings reads a settings file; one that is not there is an empty one.
func readSettings(path string) (*settingsFile, error) {
	f := &settingsFile{path: path, target: path}
	target, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil:
		f.target = target
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w; check the path", path, plainError(err))
	default:
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("%s is a link to nothing; remove it, or restore what it points to", path)
		}
		return f, nil
	}
	if f.info, err = os.Stat(f.target); err != nil {
		return nil, fmt.Errorf("%s: %w; check its owner and mode", path, plainError(err))
	}
	if !f.info.Mode().IsRegular() { // before it is opened: a pipe would wait for its other end
		return nil, fmt.Errorf("%s is not a file; move it away", path)
	}
	file, err := os.Open(f.target)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; check its owner and mode", path, plainError(err))
	}
	defer file.Close()
	if f.text, err = io.ReadAll(io.LimitReader(file, maxSettings+1)); err != nil {
		return nil, fmt.Errorf("%s: %w; check the disk", path, plainError(err))
	}
	if len(f.text) > maxSettings {
		return nil, fmt.Errorf("%s is larger than %d bytes; is it the settings file?", path, maxSettings)
	}
	return f, nil
}

// plainError leaves out the path that the caller names already.
func plainError(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// A byteOrderMark is what some editors begin a file with; JSON has none.
const byteOrderMark = "\uFEFF"

// edited applies a change to the file's text.
func (f *settingsFile) edited(change func(*jsonedit.Text) error) ([]byte, error) {
	marked := bytes.HasPrefix(f.text, []byte(byteOrderMark))
	body := settingsBody(f.text)
	doc, err := jsonedit.Parse(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; correct the file, it is untouched", f.path, err)
	}
	if err := change(doc); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	if bytes.Equal(doc.Bytes, body) { // an empty file stays one
		return f.text, nil
	}
	if !json.Valid(doc.Bytes) {
		return nil, fmt.Errorf("%s: cannot be edited, for a mistake of sm; report it, the file is untouched", f.path)
	}
	if marked {
		return append([]byte(byteOrderMark), doc.Bytes...), nil
	}
	return doc.Bytes, nil
}

// writable says why the file cannot be replaced. A mode without the write bit is a wish that even root respects.
func (f *settingsFile) writable() error {
	dir := filepath.Dir(f.target)
	if f.info != nil {
		if f.info.Mode().Perm()&0o200 == 0 {
			return fmt.Errorf("%s is read-only; run chmod u+w %s", f.path, shellQuote(f.target))
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
		return fmt.Errorf("%s: %w; check its owner and mode", dir, plainError(err))
	}
	if info.Mode().Perm()&0o200 == 0 || unix.Access(dir, unix.W_OK|unix.X_OK) != nil {
		return fmt.Errorf("the directory %s is read-only; make it writable, or set CLAUDE_CONFIG_DIR", dir)
	}
	return nil
}

func ownerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

// errChanged says that somebody else has written the file since it was read.
var errChanged = errors.New("the file has changed meanwhile")

// write replaces the file, or leaves it as it is.
func (f *settingsFile) write(text []byte) error {
	mode := fs.FileMode(0o600)
	if f.info != nil {
		mode = f.info.Mode().Perm()
	}
	return writeWhole(f.target, text, mode, f.unchanged)
}

// unchanged says whether the file is still as it was read.
func (f *settingsFile) unchanged() error {
	now, err := readSettings(f.path)
	if err != nil || now.target != f.target || !bytes.Equal(now.text, f.text) || (now.info == nil) != (f.info == nil) {
		return errors.Join(errChanged, err)
	}
	return nil
}

// remove removes the file, or leaves it as it is.
func (f *settingsFile) remove() error {
	if err := f.unchanged(); err != nil {
		return err
	}
	if err := os.Remove(f.target); err != nil {
		return fmt.Errorf("remove %s: %w; check its owner and mode", f.target, plainError(err))
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
