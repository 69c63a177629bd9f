package handoff

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"sm/handoff/files"
)

// store is the locked folder of the documents. Its methods take names of files
// in that folder.
type store struct {
	*Documents
	root *os.Root
}

const lockFile = ".lock"

// lockWait limits the wait for the lock: a stopped process may hold it for
// ever.
const lockWait = 5 * time.Second

// with runs f with the folder locked. If the folder does not exist, the store
// is nil.
func (d *Documents) with(f func(*store) error) error {
	if _, err := os.Lstat(d.dir); errors.Is(err, fs.ErrNotExist) {
		return f(nil)
	}
	root, err := files.OpenPrivate(d.dir, "set handoff.directory to another")
	if err != nil {
		return fmt.Errorf("the folder of handoff documents: %w", err)
	}
	defer root.Close()

	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	lock, err := files.Lock(ctx, root, lockFile)
	if err != nil {
		return fmt.Errorf("lock %s, which another process may have locked: %w; try again",
			quoted(d.dir), err)
	}
	defer lock.Close() // releases the lock
	return f(&store{d, root})
}

func (s *store) path(name string) string { return filepath.Join(s.dir, name) }

// commit stores a manifest and its new documents, all or nothing. They become
// valid with the rename of the manifest.
func (s *store) commit(m *manifest, fresh ...Document) error {
	err := s.write(m, fresh)
	if err != nil {
		return fmt.Errorf("store handoff documents in %s: %w; free some space, or see to its permissions",
			quoted(s.dir), err)
	}
	return nil
}

func (s *store) write(m *manifest, fresh []Document) error {
	data, err := files.Text(m, m.unknown)
	if err != nil {
		return err
	}
	put := func(name string, data []byte) error {
		s.step("write " + name)
		return files.Put(s.root, name, data, 0o600)
	}
	for _, d := range fresh {
		text := commentLine("HANDOFF-ID", d.ID) +
			commentLine("SESSION", d.SessionID) +
			commentLine("CHANNEL", d.Channel) +
			commentLine("CREATED", d.CreatedAt.UTC().Format(time.RFC3339)) +
			commentLine("TYPE", string(d.Type)) +
			commentLine("WORKING-DIR", d.WorkingDir) + "\n" + d.Body
		if err := put(documentFile(m.Channel, d.ID), []byte(text)); err != nil {
			return err
		}
	}
	name := manifestFile(m.Channel)
	if err := put(name+".new", data); err != nil {
		return err
	}
	s.step("sync")
	if err := files.Sync(s.root); err != nil {
		return err
	}
	s.step("rename manifest")
	if err := s.root.Rename(name+".new", name); err != nil {
		return err
	}
	s.step("sync manifest")
	if err := files.Sync(s.root); err != nil {
		return err
	}
	return s.sweep(m)
}

// sweep removes the channel's documents that are not in its manifest: documents
// that were replaced or that a killed process left behind. Documents of a
// damaged manifest stay with it.
func (s *store) sweep(m *manifest) error {
	list, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return err
	}
	listed := m.ids()
	for _, file := range slices.Backward(list) { // manifests come first
		name := file.Name()
		if strings.HasPrefix(name, manifestFile(m.Channel)+".damaged-") {
			return nil
		}
		name, _ = strings.CutPrefix(name, channelFile(m.Channel)+"-")
		id, _ := strings.CutSuffix(name, ".md")
		at := id[:max(0, len(id)-idPrefix)]
		_, err := time.Parse(idLayout, at)
		if err != nil || len(at) != len(idLayout) || slices.Contains(listed, id) {
			continue // not the id of a document, or a listed one
		}
		s.step("remove " + id)
		if err := s.root.Remove(file.Name()); err != nil {
			return err
		}
	}
	return nil
}

// load reads a channel's manifest. A damaged manifest is set aside and logged.
// Without a manifest load returns an empty one.
func (s *store) load(channel string) (*manifest, error) {
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
		return m, nil
	case !errors.Is(err, files.ErrDamaged):
		return nil, fmt.Errorf("manifest of channel %s: %w; make it readable", quoted(channel), err)
	}
	aside, asideErr := files.SetAside(s.root, name, time.Now())
	if asideErr != nil {
		return nil, fmt.Errorf("set aside damaged manifest %s: %w; move it away", quoted(name),
			asideErr)
	}
	s.log.Warn(
		"a manifest of handoff documents was damaged; it is set aside and the channel starts afresh",
		"manifest", s.path(name),
		"kept", s.path(aside),
		"err", err,
	)
	return empty, nil
}

// document returns an entry's document with the derived fields.
func (s *store) document(m *manifest, e *entry) Document {
	d := e.Document
	d.Channel = m.Channel
	d.File = s.path(documentFile(m.Channel, d.ID))
	d.Current = m.Current != nil && m.Current.ID == d.ID
	return d
}

// read returns an entry's document with its body.
func (s *store) read(m *manifest, e *entry) (Document, error) {
	d := s.document(m, e)
	text, err := files.Read(d.File, maxFile)
	head := regexp.MustCompile("^(" + commentStart + ".* -->\n)*").FindString(string(text))
	// Scripts may leave out the channel.
	if err == nil && (!strings.HasPrefix(head, commentLine("HANDOFF-ID", d.ID)) ||
		strings.Contains(head, commentStart+"CHANNEL: ") &&
			!strings.Contains(head, commentLine("CHANNEL", d.Channel))) {
		err = fmt.Errorf("%s holds another document", quoted(d.File))
	}
	if err != nil {
		return Document{}, fmt.Errorf("handoff document %s of channel %s is rejected: %w; see to the file, or run sm documents clear",
			quoted(d.ID), quoted(d.Channel), err)
	}
	d.Body = strings.TrimPrefix(string(text)[len(head):], "\n") // scripts may leave out the empty line
	return d, nil
}
