package handoff

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"sm/alerts"
	"sm/handoff/files"
)

// plainFor is how long a copy under a plain name is kept: the agent reads it after its
// handoff has been confirmed, and may again.
const plainFor = 24 * time.Hour

const plainPrefix = "sm-read-"

// ErrNotPlain means that a document has no name that may be typed.
var ErrNotPlain = errors.New("its name holds characters that mean something to a shell, and so does handoff.directory; write the document under a plain name")

// Plain stores a copy of a document under a name that may be typed into a pane: the document's
// own name has a character that is special to shells. It returns the copy's path. It is not a
// link, so that what was examined is handed over whatever happens to the file. Copies older
// than a day are removed.
func (d *Documents) Plain(id, body string, now time.Time) (path string, err error) {
	err = d.with(true, func(s *store) error {
		name := plainPrefix + id + ".md"
		path = s.path(name)
		if !alerts.Plain(path) {
			return ErrNotPlain
		}
		s.sweepPlain(now)
		return files.Write(s.root, name, []byte(body), 0o600)
	})
	if err != nil {
		return "", fmt.Errorf("copy a handoff document: %w", err)
	}
	return path, nil
}

// SweepPlain removes the copies that Plain has made more than a day ago.
func (d *Documents) SweepPlain(now time.Time) error {
	return d.with(false, func(s *store) error {
		if s != nil {
			s.sweepPlain(now)
		}
		return nil
	})
}

func (s *store) sweepPlain(now time.Time) {
	names, _ := fs.Glob(s.root.FS(), plainPrefix+"*.md") // the pattern is valid
	for _, name := range names {
		info, err := s.root.Lstat(name)
		if err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()) > plainFor {
			_ = s.root.Remove(name) // one that stays does no harm
		}
	}
}
