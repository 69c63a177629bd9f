package guard

import (
	"bytes"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"sm/handoff/files"
	"sm/transcript/claude/hook"
)

// Client identifies a client. Unknown fields are zero.
type Client struct {
	SessionID string
	PID       int
	Start     string // start time of the process, see State.PIDStart
}

// ClientOf returns the client of a session, given the origin of one of its
// hooks.
func ClientOf(session string, o *hook.Origin) Client {
	return Client{SessionID: session, PID: o.PID, Start: o.Start}
}

// runs reports whether a state names the client's process. A file written by
// another program may lack the start time.
func (c Client) runs(s *State) bool {
	return c.PID > 1 && s.PID == c.PID && (s.PIDStart == c.Start || s.PIDStart == "")
}

// is reports whether a state names the client's session.
func (c Client) is(s *State) bool {
	return c.SessionID != "" && s.SessionID == c.SessionID
}

const (
	// guardLevels limits how far up from a folder sessions are searched.
	// guardMany limits the sessions read in one folder to the last names, since
	// names begin with a date.
	guardLevels = 64
	guardMany   = 2000
)

// Find finds the state file of a client in the folder sessions of each of dirs
// and of the folders above them, by the client's session first and by its
// process second. Of several matches it prefers a session that has overflowed,
// because no other may hide it, then a session that is not completed, then the
// one started last. Unreadable files are skipped.
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

// Any reports whether Find would read any session. It reads none itself.
func Any(dirs []string) bool {
	return slices.ContainsFunc(guardPaths(dirs), func(path string) bool {
		info, err := os.Lstat(path)
		return err == nil && info.Mode().IsRegular()
	})
}

// guardFiles yields the readable state files that may be the client's, by their paths.
func guardFiles(dirs []string, c Client) iter.Seq2[string, *State] {
	return func(yield func(string, *State) bool) {
		for _, path := range guardPaths(dirs) {
			text, err := files.Read(path, maxGuardFile)
			// Hardly any of a thousand old sessions names the client, and a
			// search is far cheaper than parsing.
			named := c.PID > 1 && bytes.Contains(text, []byte(strconv.Itoa(c.PID))) ||
				c.SessionID != "" && bytes.Contains(text, []byte(c.SessionID))
			if err != nil || !named {
				continue
			}
			if s, err := ParseState(text); err == nil && !yield(path, s) {
				return
			}
		}
	}
}

// guardPaths returns the paths of the state files, each once, in the folders
// sessions of dirs and of the folders above them.
func guardPaths(dirs []string) (paths []string) {
	var seen []string
	for _, dir := range dirs {
		for range guardLevels {
			if !filepath.IsAbs(dir) || slices.Contains(seen, dir) {
				break
			}
			seen = append(seen, dir)
			folder := filepath.Join(dir, Folder)
			dir = filepath.Dir(dir)
			// A pipe must not be opened: that would wait for its other end.
			if !files.IsDir(folder) {
				continue
			}
			entries, _ := os.ReadDir(folder) // after a failure those read before it
			for _, e := range slices.Backward(entries[max(0, len(entries)-guardMany):]) {
				if e.IsDir() {
					paths = append(paths, filepath.Join(folder, e.Name(), StateFile))
				}
			}
		}
	}
	return paths
}
