package handoff

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"sm/handoff/files"
)

// maxManifest bounds a manifest, in bytes: hundreds of entries take a few hundred KiB.
const maxManifest = 4 << 20

// manifest lists the documents of a channel, the oldest first.
type manifest struct {
	Channel   string      `json:"channel"`
	Documents []*Document `json:"documents"`
}

func decodeManifest(data []byte) (*manifest, error) {
	m := &manifest{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, err
	}
	bad := func(d *Document) bool { return d == nil || d.ID != filepath.Base(d.ID) }
	if m.Channel == "" || slices.ContainsFunc(m.Documents, bad) {
		return nil, errors.New("it lacks a channel or an id")
	}
	return m, nil
}

func (m *manifest) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(m)
	return b.Bytes(), err
}

// last returns the newest document for which is returns true, nil for none.
func (m *manifest) last(is func(*Document) bool) *Document {
	for _, d := range slices.Backward(m.Documents) {
		if is(d) {
			return d
		}
	}
	return nil
}

func (m *manifest) current() *Document { return m.last(func(*Document) bool { return true }) }

func (m *manifest) find(id string) *Document {
	return m.last(func(d *Document) bool { return d.ID == id })
}

// of returns the newest document that an agent left or got.
func (m *manifest) of(agent string) *Document {
	return m.last(func(d *Document) bool { return d.Agent == agent || d.ClaimedBy == agent })
}

// expire marks documents that are too old. One from the future, made with a wrong clock,
// counts as old.
func (m *manifest) expire(now time.Time, expiry time.Duration) {
	for _, d := range m.Documents {
		if d.Status == StatusActive && now.Sub(d.CreatedAt).Abs() > expiry {
			d.Status = StatusExpired
		}
	}
}

// How long, and how many, documents that will not be given any more are kept.
const (
	keepFor   = 30 * 24 * time.Hour
	keepCount = 500
)

// prune drops replaced documents, and those that will not be given any more when they are
// old or many. It keeps the newest of each agent, and the last one that it got.
func (m *manifest) prune(now time.Time) {
	seen := map[string]bool{}
	handed := map[string]bool{}
	var kept []*Document
	for _, d := range slices.Backward(m.Documents) {
		owner := d.owner()
		keep := !seen[d.Agent] || !seen[owner] || d.handedOver() && !handed[owner]
		seen[d.Agent] = true
		seen[owner] = true
		handed[owner] = handed[owner] || d.handedOver()
		fresh := len(kept) < keepCount && now.Sub(d.CreatedAt) <= keepFor
		if keep && (fresh || d.Status == StatusActive) {
			kept = append(kept, d)
		}
	}
	slices.Reverse(kept)
	m.Documents = kept
}

// ErrLocked means that another process did not release the folder in time.
var ErrLocked = errors.New("another process keeps the handoff documents locked; try again")

// lockWait limits the wait for the lock, which a stopped process may hold for ever.
const lockWait = 5 * time.Second

// edit runs f on the manifest of a channel with the folder locked, stores what f has changed
// and removes the files of dropped documents. The rename of the manifest decides: what
// precedes it changes nothing. Without a folder root is nil, and nothing is stored.
func (d *Documents) edit(
	op, channel string, now time.Time, f func(root *os.Root, m *manifest) error,
) error {
	root, err := openDir(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = f(nil, &manifest{Channel: channel})
	} else if err == nil {
		defer root.Close()
		err = d.editIn(root, channel, now, f)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

func (d *Documents) editIn(
	root *os.Root, channel string, now time.Time, f func(root *os.Root, m *manifest) error,
) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	lock, err := files.Lock(ctx, root, ".lock")
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return ErrLocked
	case err != nil:
		return fmt.Errorf("lock %s: %w; see to its permissions and its file system", quoted(d.dir), err)
	}
	defer lock.Close()

	m, data, err := d.load(root, channel, now)
	if err != nil {
		return err
	}
	before := slices.Clone(m.Documents)
	m.expire(now, d.expiry)
	if err := f(root, m); err != nil {
		return err
	}
	text, err := m.encode()
	if err != nil || bytes.Equal(data, text) || len(before)+len(m.Documents) == 0 {
		return err
	}
	if err := files.Write(root, manifestFile(channel), text, 0o600); err != nil {
		return fmt.Errorf("store in %s: %w; free some space, or see to its permissions", quoted(d.dir), err)
	}
	for _, dropped := range before {
		if m.find(dropped.ID) == nil {
			_ = root.Remove(filepath.Base(fileOf(d.dir, dropped.ID))) // one that stays does no harm
		}
	}
	return nil
}

// load reads a channel's manifest. A damaged one is set aside and logged. Without a manifest
// it returns an empty one.
func (d *Documents) load(root *os.Root, channel string, now time.Time) (*manifest, []byte, error) {
	name := manifestFile(channel)
	path := filepath.Join(d.dir, name)
	empty := &manifest{Channel: channel}
	data, err := files.Read(path, maxManifest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return empty, nil, nil
	case err != nil && !errors.Is(err, files.ErrDamaged):
		return nil, nil, fmt.Errorf("read a manifest: %w; make it readable", err)
	}
	m := empty
	if err == nil {
		m, err = decodeManifest(data)
	}
	switch {
	case err == nil && m.Channel != channel:
		return nil, nil, fmt.Errorf(
			"%s is the manifest of another channel; give one of the two another name", quoted(path))
	case err == nil:
		return m, data, nil
	}
	aside, asideErr := files.SetAside(root, name, now)
	if asideErr != nil {
		return nil, nil, fmt.Errorf("set aside damaged manifest %s: %w; move it away", quoted(name), asideErr)
	}
	d.log.Warn("a manifest of handoff documents was damaged; it is set aside and the channel starts afresh",
		"manifest", path, "kept", filepath.Join(d.dir, aside), "err", err)
	return empty, nil, nil
}

// makeDir makes the folder and the missing ones above it, mode 0700 whatever the umask is.
func makeDir(dir string) error {
	if _, err := os.Lstat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return errors.Join(err, os.Chmod(dir, 0o700))
}

// openDir opens a folder that no other user can write to.
func openDir(dir string) (*os.Root, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, fmt.Errorf("folder of handoff documents: %w", err)
	}
	problem := ""
	switch stat, ok := info.Sys().(*syscall.Stat_t); {
	case !info.IsDir():
		problem = "is not a folder"
	case ok && int(stat.Uid) != os.Geteuid():
		problem = "belongs to another user"
	case info.Mode().Perm()&0o022 != 0:
		problem = "can be written by others"
	}
	if problem != "" {
		return nil, fmt.Errorf("%s %s; see to it, or set handoff.directory to another", quoted(dir), problem)
	}
	return os.OpenRoot(dir)
}
