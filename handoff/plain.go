package handoff

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"sm/alerts"
)

// plainFor is how long a copy under a plain name is kept: the agent reads it after its
// handoff has been confirmed, and may again.
const plainFor = 24 * time.Hour

// plainName matches the names of such copies. Other documents are named by channel and agent.
var plainName = regexp.MustCompile(`^sm-read-[a-z0-9-]+\.md$`)

// ErrNotPlain means that a document has no name that may be typed.
var ErrNotPlain = errors.New("its name holds characters that mean something to a shell, and so does handoff.directory; write the document under a plain name")

// Plain stores a copy of a document under a name that may be typed into a pane: the document's
// own name has a character that is special to shells. It returns the copy's path. It is not a
// link, so that what was examined is handed over whatever happens to the file. Copies older
// than a day are removed.
func (d *Documents) Plain(id, body string, now time.Time) (path string, err error) {
	name := "sm-read-" + id + ".md"
	path = filepath.Join(d.dir, name)
	if !alerts.Plain(path) || !plainName.MatchString(name) {
		return "", ErrNotPlain
	}
	err = d.with(true, func(s *store) error {
		s.sweepPlain(now)
		temp := redoPrefix + name + tempSuffix
		if err := s.put(temp, []byte(body)); err != nil {
			return err
		}
		return s.root.Rename(temp, name)
	})
	if err != nil {
		return "", fmt.Errorf(
			"copy a handoff document to %s: %w; see to its folder",
			quoted(path),
			err,
		)
	}
	return path, nil
}

// SweepPlain removes the copies that Plain has made more than a day ago.
func (d *Documents) SweepPlain(now time.Time) error {
	err := d.with(false, func(s *store) error { s.sweepPlain(now); return nil })
	if errors.Is(err, errNoFolder) {
		return nil
	}
	return err
}

func (s *store) sweepPlain(now time.Time) {
	names, _ := s.names() // what cannot be listed stays
	for _, name := range names {
		info, err := s.root.Lstat(name)
		if err == nil && plainName.MatchString(name) && info.Mode().IsRegular() &&
			now.Sub(info.ModTime()) > plainFor {
			_ = s.root.Remove(name) // one that stays does no harm
		}
	}
}
