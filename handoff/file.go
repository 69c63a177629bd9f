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
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"sm/handoff/files"
)

// File is a file that may be handed over.
type File struct {
	Modified time.Time
	// Content is the content of the file when it was examined: UTF-8 without
	// NUL. It was read through the descriptor that was checked, so it is from
	// the checked file.
	Content []byte
}

// fileTick is the maximum delay of a time stamp behind the clock: the kernel
// stamps files with the time of its last tick.
const fileTick = 10 * time.Millisecond

// Examine reads a file that may be handed over: a regular file of this user
// with one name, 1 to limit bytes of text, written since the session began
// (zero: at any time), with a name that can be shown and typed. The error has a
// [FileReason].
//
// Examine does not wait: it opens the file without blocking and reads it only
// if it is regular and not too large. Network file systems may still block.
// Files of the kernel's own file systems are refused, because they do not
// report the sizes of their contents.
func Examine(path string, since time.Time, limit int64) (fit File, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("hand over %s: %w", quoted(path), withReason(err))
		}
	}()
	switch {
	case !filepath.IsAbs(path):
		return fit, FileRelative
	case visible(path) != path: // a person must be able to read the name of the file
		return fit, FileName
	}
	named, err := os.Lstat(path)
	if err == nil {
		err = checkMode(named)
	}
	if err != nil {
		return fit, err
	}
	// Another file may take the name before the open: therefore the flags and
	// the second check. The first check is needed as well: if a name has been
	// removed in between, the second check counts one name less.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return fit, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !os.SameFile(named, info) {
		err = FileSwapped
	}
	if err == nil {
		err = checkOpened(info, since, limit)
	}
	if err != nil {
		return fit, err
	}
	content, err := readStill(f, info)
	switch {
	case err != nil:
		return fit, err
	case !stillNamed(f, path): // the counted name is another one
		return fit, FileSwapped
	case !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0:
		return fit, FileEncoding
	}
	return File{Modified: info.ModTime(), Content: content}, nil
}

func checkMode(info fs.FileInfo) error {
	links := info.Sys().(*syscall.Stat_t).Nlink
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return FileSymlink
	case !info.Mode().IsRegular():
		return FileIrregular
	case links == 0: // removed meanwhile
		return FileSwapped
	case links > 1:
		return FileLinked
	}
	return nil
}

// checkOpened checks an open file without reading it.
func checkOpened(info fs.FileInfo, since time.Time, limit int64) error {
	if err := checkMode(info); err != nil {
		return err
	}
	switch {
	case !files.Own(info):
		return FileForeign
	case info.Size() == 0:
		return FileEmpty
	case info.Size() > limit:
		return fmt.Errorf("%d bytes, and the limit is %d: %w", info.Size(), limit, FileLarge)
	case !since.IsZero() && older(info.ModTime(), since):
		return FileStale
	}
	return nil
}

// older reports whether a file is older than since. It allows for coarse time
// stamps: some file systems store whole seconds.
func older(modified, since time.Time) bool {
	if modified.Nanosecond() == 0 {
		since = since.Truncate(time.Second)
	}
	return modified.Before(since.Add(-fileTick))
}

// readStill reads a file, and fails if the file changes meanwhile.
func readStill(f *os.File, before fs.FileInfo) ([]byte, error) {
	content, readErr := io.ReadAll(io.LimitReader(f, before.Size()+1))
	after, err := f.Stat()
	if err := cmp.Or(readErr, err); err != nil {
		return nil, err
	}
	if int64(len(content)) != before.Size() || after.Size() != before.Size() ||
		!after.ModTime().Equal(before.ModTime()) {
		return nil, FileSwapped
	}
	return content, nil
}

// FileReason is the reason why a file is not handed over: a single word, used
// as a label, a colon, and a sentence with the problem and its remedy.
type FileReason string

// The reasons.
const (
	FileRelative   FileReason = "relative: the path is not absolute; give the path from the root on"
	FileName       FileReason = "name: the path is too long or has invisible or invalid characters; write the document under a plain name"
	FileMissing    FileReason = "missing: there is no such file; write the document first"
	FileUnreadable FileReason = "unreadable: it cannot be read; make it readable, or write the document elsewhere"
	FileSymlink    FileReason = "symlink: it is a symbolic link; name the file itself"
	FileIrregular  FileReason = "irregular: it is not a regular file; write the document into a file"
	FileLinked     FileReason = "linked: it has several names (hard links); copy it, and name the copy" // another name may be where the agent may not write
	FileSwapped    FileReason = "swapped: it changed while it was looked at; finish writing, then try again"
	FileForeign    FileReason = "foreign: it belongs to another user; write a document of your own"
	FileEmpty      FileReason = "empty: it is empty; write the document first"
	FileLarge      FileReason = "large: it is too large; shorten the document to what the next session needs"
	FileStale      FileReason = "stale: it was last written before this session began; write the document anew"
	FileEncoding   FileReason = "encoding: it is not UTF-8 text; write the document as UTF-8"
)

// Error returns the sentence.
func (r FileReason) Error() string {
	_, sentence, _ := strings.Cut(string(r), ": ")
	return sentence
}

// Word returns the reason in one word.
func (r FileReason) Word() string {
	word, _, _ := strings.Cut(string(r), ": ")
	return word
}

// maxQuoted limits a path in an error, in bytes.
const maxQuoted = 300

// quoted quotes a path, with question marks for invisible characters. It cuts
// the beginning of a long path.
func quoted(path string) string {
	if len(path) > maxQuoted {
		path = "…" + strings.ToValidUTF8(path[len(path)-maxQuoted:], "")
	}
	return strconv.Quote(visible(path))
}

// withReason returns err with a FileReason, which ends its text, unless it has
// one already.
func withReason(err error) error {
	if _, ok := errors.AsType[FileReason](err); ok {
		return err
	}
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
	return fmt.Errorf("%w: %w", files.Plain(err), FileUnreadable)
}
