package handoff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sm/handoff/files"
)

// store is the locked folder of the documents. Names are those of files in it.
type store struct {
	*Documents
	root *os.Root
}

const lockFile = ".lock"

// lockWait limits the wait for the lock, which a stopped process may hold for ever.
const lockWait = 5 * time.Second

// with runs f with the folder locked. Without create and without a folder the store is nil.
func (d *Documents) with(create bool, f func(*store) error) error {
	if create {
		if err := os.MkdirAll(d.dir, 0o700); err != nil {
			return fmt.Errorf(
				"make the folder of handoff documents: %w; set handoff.directory to another",
				err,
			)
		}
	}
	root, err := openDir(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return f(nil)
	}
	if err != nil {
		return err
	}
	defer root.Close()

	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	lock, err := files.Lock(ctx, root, lockFile)
	if err != nil {
		return fmt.Errorf(
			"lock %s, which another process may have locked: %w; try again",
			quoted(d.dir),
			err,
		)
	}
	defer lock.Close() // and with it the lock
	return f(&store{d, root})
}

// openDir opens a folder that no other user can write to. The handle stays valid whatever
// happens to the path.
func openDir(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder of handoff documents: %w", err)
	}
	opened, err := root.Stat(".")
	if err == nil {
		var named fs.FileInfo
		named, err = os.Lstat(dir)
		if err == nil &&
			(!os.SameFile(named, opened) || !files.Own(opened) || opened.Mode()&0o022 != 0) {
			err = fmt.Errorf(
				"%s is no folder of this user's alone; run chmod 700, or set handoff.directory to another",
				quoted(dir),
			)
		}
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

func (s *store) path(name string) string { return filepath.Join(s.dir, name) }

// redoSuffix and a dot make the name of a file that is about to take its place.
const redoSuffix = ".redo"

// commit stores a manifest and its new documents, by the names of their files: all or nothing.
// The rename of the manifest decides; recover completes what is interrupted after that.
func (s *store) commit(m *manifest, texts map[string]string) error {
	err := s.write(m, texts)
	if err != nil {
		return fmt.Errorf(
			"store handoff documents in %s: %w; free some space, or see to its permissions",
			quoted(s.dir),
			err,
		)
	}
	return nil
}

func (s *store) write(m *manifest, texts map[string]string) error {
	data, err := m.encode()
	if err != nil {
		return err
	}
	put := func(name string, data []byte) error {
		s.step("write " + name)
		return files.Put(s.root, "."+name+redoSuffix, data, 0o600)
	}
	for name, text := range texts {
		if err := put(name, []byte(text)); err != nil {
			return err
		}
	}
	name := manifestFile(m.Channel)
	if err := put(name, data); err != nil {
		return err
	}
	s.step("sync")
	if err := files.Sync(s.root); err != nil {
		return err
	}
	s.step("rename manifest")
	if err := s.root.Rename("."+name+redoSuffix, name); err != nil {
		return err
	}
	s.step("sync manifest")
	if err := files.Sync(s.root); err != nil {
		return err
	}
	return s.recover(m)
}

// recover completes a commit: new documents in the manifest are renamed to their names, others
// are removed.
func (s *store) recover(m *manifest) error {
	names, err := fs.Glob(s.root.FS(), ".*"+redoSuffix)
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := files.Read(s.path(name), maxFile)
		id, channel, _ := parseFile(string(text))
		switch {
		case err != nil || id == "" || channel != comment(m.Channel):
			continue // incomplete, or another channel's: the next writer replaces it
		case m.find(id) != nil:
			s.step("rename " + name)
			err = s.root.Rename(name, strings.TrimSuffix(name[1:], redoSuffix))
		default:
			err = s.root.Remove(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// load reads a channel's manifest and completes an interrupted commit. A damaged manifest is
// set aside and logged. Without a manifest it returns an empty one.
func (s *store) load(channel string, now time.Time) (*manifest, error) {
	empty := &manifest{Channel: channel}
	if s == nil {
		return empty, nil
	}
	name := manifestFile(channel)
	m, err := readManifest(s.path(name))
	if err == nil && m.Channel != channel {
		err = fmt.Errorf("%w: it is another channel's", files.ErrDamaged)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return empty, nil
	case err == nil:
		return m, s.recover(m)
	case !errors.Is(err, files.ErrDamaged):
		return nil, fmt.Errorf("manifest of channel %s: %w; make it readable", quoted(channel), err)
	}
	aside, asideErr := files.SetAside(s.root, name, now)
	if asideErr != nil {
		return nil, fmt.Errorf(
			"set aside damaged manifest %s: %w; move it away",
			quoted(name),
			asideErr,
		)
	}
	s.log.Warn(
		"a manifest of handoff documents was damaged; it is set aside and the channel starts afresh",
		"manifest", s.path(name),
		"kept", s.path(aside),
		"err", err,
	)
	return empty, nil
}

// homes are the names that a file of an agent's document may have. Without an agent it is the
// channel's newest.
func homes(channel, agent, mark string) []string {
	if agent == "" {
		return []string{currentFile(channel)}
	}
	return []string{agentFile(channel, agent, mark), besides(channel, agent, mark)}
}

// body reads an entry's document from the first of the files that holds it.
func (s *store) body(channel string, e *entry, names ...string) (doc Document, err error) {
	var why, unread error
	for _, name := range names {
		path := s.path(name)
		text, err := files.Read(path, maxFile)
		id, of, body := parseFile(string(text))
		switch {
		case err != nil:
			unread = cmp.Or(unread, err)
		case id != comment(e.ID) || of != "" && of != comment(channel):
			why = cmp.Or(
				why,
				fmt.Errorf("%s holds %s of channel %s", quoted(path), quoted(id), quoted(of)),
			)
		default:
			doc = e.in(channel, path)
			doc.Body = body
			return doc, nil
		}
	}
	return Document{}, fmt.Errorf("handoff document %s of channel %s is rejected: %w; see to the file, or run sm documents clear",
		quoted(e.ID), quoted(channel), cmp.Or(why, unread))
}

// place adds a document to the files to be written, under the agent's name, and returns its
// path. A name that another channel uses is left to it.
func (s *store) place(texts map[string]string, d *Document, agent, mark string) string {
	names := homes(d.Channel, agent, mark)
	name := names[0]
	if channel := s.channelOf(name); channel != "" && channel != comment(d.Channel) {
		name = names[1]
	}
	texts[name] = d.header() + d.Body
	return s.path(name)
}

// channelOf is the channel that a document's file names.
func (s *store) channelOf(name string) string {
	text, _ := files.Read(s.path(name), maxFile) // without a file there is none
	_, channel, _ := parseFile(string(text))
	return channel
}

// removeExpired removes agents whose documents will not be given any more. It runs before the
// manifest is stored: after a kill they are found and removed again.
func (s *store) removeExpired(m *manifest, now time.Time) {
	for _, agent := range m.prune(now, s.expiry) {
		own := homes(m.Channel, agent, "")
		for _, name := range slices.Concat(own, homes(m.Channel, agent, executedMark)) {
			if s.channelOf(name) == comment(m.Channel) {
				_ = s.root.Remove(name) // one that stays does no harm
			}
		}
	}
}
