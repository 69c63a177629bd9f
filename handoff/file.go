package handoff

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"sm/handoff/files"
	"sm/transcript/wording"
)

// DefaultLimit is the default size limit of a document, in bytes.
const DefaultLimit = 256 << 10

// File is a file that may be handed over.
type File struct {
	Path     string // as it was named
	Size     int64  // in bytes, at least 1
	Modified time.Time
	// Content is what stood in the file when it was examined: UTF-8 without NUL. It was
	// read through the descriptor that was checked, so it is that file's and no other's.
	Content []byte
}

// fileTick is how far a time stamp may lie behind the clock: the kernel stamps files
// with the time of its last tick.
const fileTick = 10 * time.Millisecond

// Examine reads a file that may be handed over: a regular file of this user with one name, 1
// byte to limit bytes of text (0 for DefaultLimit), written since the session began (a zero time
// for any), with a name that can be shown and typed. The error is a [*FileError].
//
// It does not wait: the file is opened without blocking and read only if it is regular and not
// too large. Files of the kernel are empty or another user's. Network file systems may block.
func Examine(path string, since time.Time, limit int64) (File, error) {
	content, info, reason, err := examine(path, since, cmp.Or(max(limit, 0), DefaultLimit))
	if reason != FileFit || err != nil {
		return File{}, &FileError{Path: path, Reason: cmp.Or(reason, reasonOf(err)), Err: err}
	}
	return File{
		Path:     path,
		Size:     info.Size(),
		Modified: info.ModTime(),
		Content:  content,
	}, nil
}

func examine(
	path string, since time.Time, limit int64,
) (content []byte, info fs.FileInfo, reason FileReason, err error) {
	switch {
	case !filepath.IsAbs(path):
		return nil, nil, FileRelative, nil
	case !showable(path):
		return nil, nil, FileName, nil
	}
	// A device is not opened, nor a pipe that takes the name meanwhile waited for.
	if info, err = os.Lstat(path); err != nil {
		return nil, nil, FileFit, err
	}
	if r, err := checkInfo(info, since, limit); r != FileFit {
		return nil, nil, r, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, FileFit, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, nil, FileFit, err
	}
	if r, err := checkInfo(info, since, limit); r != FileFit {
		return nil, nil, r, err
	}
	content, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, nil, FileFit, err
	}
	// The path is still the only name of the file: a name that was removed since does not count.
	after, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, nil, FileFit, err
	case !os.SameFile(info, after):
		return nil, nil, FileSwapped, nil
	}
	if r, err := checkInfo(after, since, limit); r != FileFit {
		return nil, nil, r, err
	}
	switch {
	case int64(len(content)) != info.Size() || after.Size() != info.Size() ||
		!after.ModTime().Equal(info.ModTime()):
		return nil, nil, FileSwapped, nil
	case !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0:
		return nil, nil, FileEncoding, nil
	}
	return content, info, FileFit, nil
}

func checkInfo(info fs.FileInfo, since time.Time, limit int64) (FileReason, error) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return FileSymlink, nil
	case !info.Mode().IsRegular():
		return FileIrregular, nil
	case !ok || stat.Nlink == 0: // removed meanwhile
		return FileSwapped, nil
	case stat.Nlink > 1:
		return FileLinked, nil
	case !files.Own(info):
		return FileForeign, nil
	case info.Size() == 0:
		return FileEmpty, nil
	case info.Size() > limit:
		return FileLarge, fmt.Errorf("%d bytes, and the limit is %d", info.Size(), limit)
	case !since.IsZero() && older(info.ModTime(), since):
		return FileStale, nil
	}
	return FileFit, nil
}

// older allows for coarse time stamps; some file systems keep whole seconds.
func older(modified, since time.Time) bool {
	if modified.Nanosecond() == 0 {
		since = since.Truncate(time.Second)
	}
	return modified.Before(since.Add(-fileTick))
}

// showable reports whether a name can be shown and typed unchanged: a human must see which file
// an agent is asked to read.
func showable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !wording.Printable(r) })
}

// FileReason is why a file is not handed over: a single word, used as a label.
type FileReason string

// The reasons. FileFit is none; for the others see fileReasonTexts.
const (
	FileFit        FileReason = ""
	FileRelative   FileReason = "relative"
	FileName       FileReason = "name"
	FileMissing    FileReason = "missing"
	FileUnreadable FileReason = "unreadable"
	FileSymlink    FileReason = "symlink"
	FileIrregular  FileReason = "irregular"
	FileLinked     FileReason = "linked" // another name may be where the agent may not write
	FileSwapped    FileReason = "swapped"
	FileForeign    FileReason = "foreign"
	FileEmpty      FileReason = "empty"
	FileLarge      FileReason = "large"
	FileStale      FileReason = "stale"
	FileEncoding   FileReason = "encoding"
)

// fileReasonTexts has the problem and its remedy for each reason.
var fileReasonTexts = map[FileReason]string{
	FileRelative:   "the path is not absolute; give the path from the root on",
	FileName:       "the path is too long or has invisible or invalid characters; write the document under a plain name",
	FileMissing:    "there is no such file; write the document first",
	FileUnreadable: "it cannot be read; make it readable, or write the document elsewhere",
	FileSymlink:    "it is a symbolic link; name the file itself",
	FileIrregular:  "it is not a regular file; write the document into a file",
	FileLinked:     "it has several names (hard links); copy it, and name the copy",
	FileSwapped:    "it changed while it was read; finish writing, then try again",
	FileForeign:    "it belongs to another user; write a document of your own",
	FileEmpty:      "it is empty; write the document first",
	FileLarge:      "it is too large; shorten the document to what the next session needs",
	FileStale:      "it was last written before this session began; write the document anew",
	FileEncoding:   "it is not UTF-8 text; write the document as UTF-8",
}

// FileError is why a file is not handed over, in one line that ends with the remedy.
type FileError struct {
	Path   string
	Reason FileReason
	Err    error // the cause, if there is one
}

func (e *FileError) Error() string {
	cause := ""
	if e.Err != nil && (e.Reason == FileUnreadable || e.Reason == FileLarge) {
		cause = e.Err.Error() + ": "
	}
	return fmt.Sprintf("hand over %s: %s%s", quoted(e.Path), cause, fileReasonTexts[e.Reason])
}

func (e *FileError) Unwrap() error { return e.Err }

// maxQuoted limits a path in an error, in bytes.
const maxQuoted = 300

// quoted makes all of a path visible. The beginning of a long one is cut.
func quoted(path string) string {
	if len(path) > maxQuoted {
		path = "…" + strings.ToValidUTF8(path[len(path)-maxQuoted:], "")
	}
	var b strings.Builder
	for _, r := range path { // %q alone keeps fillers and selectors
		if quotedRune := fmt.Sprintf("%q", string(r)); wording.Printable(r) {
			b.WriteString(quotedRune[1 : len(quotedRune)-1])
		} else {
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return `"` + b.String() + `"`
}

// reasonOf is the reason for an error of the system.
func reasonOf(err error) FileReason {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return FileMissing
	case errors.Is(err, syscall.ENAMETOOLONG):
		return FileName
	case errors.Is(err, syscall.ELOOP):
		return FileSymlink
	case errors.Is(err, syscall.ENXIO):
		return FileIrregular
	}
	return FileUnreadable
}
