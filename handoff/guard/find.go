package guard

import (
	"bytes"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"sm/handoff/files"
)

// Client identifies a client. Unknown fields are zero.
type Client struct {
	SessionID string
	PID       int
	Start     string // start time of the process, see State.PIDStart
}

// runs reports whether a state names the client's process. The file of another program may
// lack the start time.
func (c Client) runs(s *State) bool {
	return c.PID > 1 && s.PID == c.PID && (s.PIDStart == c.Start || s.PIDStart == "")
}

// is reports whether a state names the client's session.
func (c Client) is(s *State) bool {
	return c.SessionID != "" && s.SessionID == c.SessionID
}

const (
	// guardLevels limits how far up from a folder sessions are searched, guardMany how many
	// of one folder are read, the last names first: names begin with a date.
	guardLevels = 64
	guardMany   = 2000
)

// Find finds the state file of a client in the folder sessions of each of dirs and of the
// folders above them: by its session first, by its process second. Of several matches one
// that has overflowed is preferred, since no other may hide it, then one that is not
// completed, then the one started last. Unreadable files are skipped.
func Find(dirs []string, c Client) (path string, s *State, ok bool) {
	best := 0
	for name, x := range guardFiles(dirs, c) {
		rank := 0
		switch {
		case c.is(x):
			rank = 4
		case c.runs(x):
			rank = 1
		default:
			continue
		}
		switch {
		case x.Overflowed:
			rank += 2
		case x.Lifecycle != SessionCompleted:
			rank++
		}
		if rank > best || rank == best && x.StartedAt.After(s.StartedAt) {
			best = rank
			path = name
			s = x
			ok = true
		}
	}
	return path, s, ok
}

// Any reports whether Find would look at any session. It reads none.
func Any(dirs []string) bool {
	for _, folder := range guardFolders(dirs) {
		for _, name := range guardSessions(folder) {
			if info, err := os.Lstat(filepath.Join(folder, name, StateFile)); err == nil &&
				info.Mode().IsRegular() {
				return true
			}
		}
	}
	return false
}

// guardFiles yields the readable state files that may be the client's, by their paths.
func guardFiles(dirs []string, c Client) iter.Seq2[string, *State] {
	return func(yield func(string, *State) bool) {
		for _, folder := range guardFolders(dirs) {
			for _, name := range guardSessions(folder) {
				path := filepath.Join(folder, name, StateFile)
				text, err := files.Read(path, maxGuardFile)
				if err != nil || !c.mayBeIn(text) {
					continue
				}
				if s, err := ParseState(text); err == nil && !yield(path, s) {
					return
				}
			}
		}
	}
}

// guardFolders lists the folders sessions of dirs and of the folders above them, each once,
// whether they exist or not.
func guardFolders(dirs []string) (folders []string) {
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		dir = filepath.Clean(dir)
		for range guardLevels {
			if folder := filepath.Join(dir, Folder); !slices.Contains(folders, folder) {
				folders = append(folders, folder)
			}
			if dir == filepath.Dir(dir) {
				break
			}
			dir = filepath.Dir(dir)
		}
	}
	return folders
}

// mayBeIn reports whether a text can name the client. Of a thousand old sessions hardly one
// does, and a search is far cheaper than parsing.
func (c Client) mayBeIn(text []byte) bool {
	return c.PID > 1 && bytes.Contains(text, strconv.AppendInt(nil, int64(c.PID), 10)) ||
		c.SessionID != "" &&
			(bytes.Contains(text, []byte(c.SessionID)) ||
				quoteWord(c.SessionID) != c.SessionID) // it may be escaped
}

// guardSessions lists the names of the folders in a folder.
func guardSessions(folder string) (names []string) {
	// A pipe must not be opened: that would wait for its other end.
	f, err := os.OpenFile(folder, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(-1) // those before a failure
	for _, e := range entries {
		if e.Type()&fs.ModeType == fs.ModeDir {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	slices.Reverse(names)
	return names[:min(len(names), guardMany)]
}
