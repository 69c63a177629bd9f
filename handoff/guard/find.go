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
)

// Client says which client asks, as far as it is known.
type Client struct {
	// SessionID is the client's session, "" for unknown.
	SessionID string
	// PID and Start name its process, 0 and "" for unknown; see State.PIDStart.
	PID   int
	Start string
}

// runs says whether a state is that of the client's process. A file of another program may
// have no start time; where there is one, a process that has got a used pid is another one.
func (c Client) runs(s *State) bool {
	return c.PID > 1 && s.PID == c.PID && (s.PIDStart == c.Start || s.PIDStart == "")
}

// is says whether a state is that of the client's session.
func (c Client) is(s *State) bool {
	return c.SessionID != "" && s.SessionID == c.SessionID
}

const (
	// guardLevels bounds how far up from a folder sessions are looked for, guardMany how
	// many sessions of one folder are looked at, the last of their names first: names that
	// begin with a date stand in the order of time.
	guardLevels = 64
	guardMany   = 2000
)

// Find finds the state file of a client: by its session first, by its process second.
// It looks into the folder sessions of each of dirs and of all folders above them. Of several
// that fit, one that has overflowed comes first, since no other may hide it, then one that is
// not completed, then the one that was started last. What cannot be read is nobody's.
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
			best, path, s, ok = rank, name, x, true
		}
	}
	return path, s, ok
}

// Any says whether there is any session where Find would look. It reads none.
func Any(dirs []string) bool {
	for _, folder := range guardFolders(dirs) {
		for _, name := range guardSessions(folder) {
			if info, err := os.Lstat(filepath.Join(folder, name, StateFile)); err == nil && info.Mode().IsRegular() {
				return true
			}
		}
	}
	return false
}

// guardFiles gives the state files that can be read and may be the client's, by their paths.
func guardFiles(dirs []string, c Client) iter.Seq2[string, *State] {
	return func(yield func(string, *State) bool) {
		for _, folder := range guardFolders(dirs) {
			for _, name := range guardSessions(folder) {
				path := filepath.Join(folder, name, StateFile)
				text, err := readOwn(path)
				if err != nil || !c.mayStand(text) {
					continue
				}
				if s, err := ParseState(text); err == nil && !yield(path, s) {
					return
				}
			}
		}
	}
}

// guardFolders lists the folders of sessions of dirs and of the folders above them, whether
// they are there or not, each once.
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

// mayStand is false for a text that does not name the client anywhere. Of a thousand old
// sessions hardly one does, and to look is far cheaper than to parse.
func (c Client) mayStand(text []byte) bool {
	return c.PID > 1 && bytes.Contains(text, strconv.AppendInt(nil, int64(c.PID), 10)) ||
		c.SessionID != "" && (bytes.Contains(text, []byte(c.SessionID)) || quoteWord(c.SessionID) != c.SessionID) // it may be escaped
}

// guardSessions lists the names of the folders in a folder.
func guardSessions(folder string) (names []string) {
	// What is no folder must not be opened: a pipe would wait for its other end.
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
