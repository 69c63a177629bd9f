package handoff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sm/handoff/files"
)

// store is the folder of the documents, locked. Names are those of files in it.
type store struct {
	dir  string
	root *os.Root
	lock *os.File
	log  *slog.Logger
	// step is called before each change of the folder that a kill could follow.
	step func(string)
}

const lockFile = ".lock"

// lockWait limits the wait for the lock, which a stopped process may hold for ever.
const lockWait = 5 * time.Second

// ErrLocked means that another process did not release the folder in time.
var ErrLocked = errors.New("another process keeps the handoff documents locked; try again")

// errNoFolder means that the folder does not exist yet.
var errNoFolder = errors.New("there are no handoff documents yet")

// openStore locks the folder, and creates it if create is set. Without a folder the error is
// errNoFolder.
func openStore(dir string, create bool, log *slog.Logger) (*store, error) {
	if create {
		if err := makeDir(dir); err != nil {
			return nil, fmt.Errorf(
				"make the folder of handoff documents: %w; set handoff.directory to another",
				err,
			)
		}
	}
	root, err := openDir(dir)
	if errors.Is(err, fs.ErrNotExist) && !create {
		return nil, errNoFolder
	}
	if err != nil {
		return nil, err
	}
	s := &store{
		dir:  dir,
		root: root,
		log:  log,
		step: func(string) {},
	}
	if s.lock, err = takeLock(root); err != nil {
		root.Close()
		return nil, err
	}
	return s, nil
}

func (s *store) close() {
	_ = s.lock.Close() // and with it the lock
	_ = s.root.Close()
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

// openDir opens a folder that no other user can write to. The handle stays valid whatever
// happens to the path.
func openDir(dir string) (*os.Root, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, fmt.Errorf("folder of handoff documents: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode(); {
	case !mode.IsDir():
		return nil, fmt.Errorf(
			"%s is not a folder; move it away, or set handoff.directory to another",
			quoted(dir),
		)
	case ok && int(stat.Uid) != os.Geteuid():
		return nil, fmt.Errorf(
			"%s belongs to uid %d; set handoff.directory to a folder of your own",
			quoted(dir),
			stat.Uid,
		)
	case mode.Perm()&0o022 != 0:
		return nil, fmt.Errorf(
			"%s can be written by others (mode %04o); run: chmod 700 %s",
			quoted(dir),
			mode.Perm(),
			dir,
		)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf(
			"open the folder of handoff documents: %w; make it readable for you",
			err,
		)
	}
	opened, err := root.Stat(".")
	if err != nil || !os.SameFile(info, opened) {
		root.Close()
		return nil, fmt.Errorf("%s was replaced while it was opened; try again", quoted(dir))
	}
	return root, nil
}

// takeLock waits for the lock of the folder.
func takeLock(root *os.Root) (*os.File, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	f, err := files.Lock(ctx, root, lockFile)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, ErrLocked
	case err != nil:
		return nil, fmt.Errorf(
			"lock the handoff documents: %w; see to the permissions and the file system of their folder",
			err,
		)
	}
	return f, nil
}

// errTooLarge means that a file is larger than any of ours.
var errTooLarge = errors.New("it is too large")

// read reads a file of at most most bytes. It never waits, for a pipe for example.
func (s *store) read(name string, most int64) ([]byte, error) {
	info, err := s.root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, files.ErrIrregular
	}
	f, err := s.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	opened, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !os.SameFile(info, opened):
		return nil, fs.ErrNotExist
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, errTooLarge
	}
	return data, err
}

// put writes a temporary file and makes its content durable.
func (s *store) put(name string, data []byte) error {
	if err := s.root.RemoveAll(name); err != nil {
		return err
	}
	return files.Put(s.root, name, data, 0o600)
}

// A document's file that is about to take its place has a name of its own until the
// manifest names it.
const (
	redoPrefix = "."
	redoSuffix = ".redo"
	tempSuffix = ".tmp"
)

// commit stores a manifest and its new documents, by the names of their files: all or nothing.
// The rename of the manifest decides; recover completes what is interrupted after that.
func (s *store) commit(m *manifest, texts map[string]string) error {
	data, err := m.encode()
	if err != nil {
		return fmt.Errorf(
			"encode the manifest of channel %s: %w; report it",
			quoted(m.Channel),
			err,
		)
	}
	fail := func(err error) error {
		for name := range texts {
			_ = s.root.Remove(redoPrefix + name + redoSuffix)
		}
		return fmt.Errorf(
			"store handoff documents in %s: %w; free some space, or see to its permissions",
			quoted(s.dir),
			err,
		)
	}
	for name, text := range texts {
		s.step("write " + name)
		if err := s.put(redoPrefix+name+redoSuffix, []byte(text)); err != nil {
			return fail(err)
		}
	}
	manifest := manifestFile(m.Channel)
	temp := redoPrefix + manifest + tempSuffix
	s.step("write manifest")
	if err := s.put(temp, data); err != nil {
		return fail(err)
	}
	s.step("sync")
	if err := files.Sync(s.root); err != nil {
		return fail(err)
	}
	s.step("rename manifest")
	if err := s.root.Rename(temp, manifest); err != nil {
		return fail(err)
	}
	// From here on the documents are stored.
	s.step("sync manifest")
	if err := files.Sync(s.root); err != nil {
		return fmt.Errorf(
			"make handoff documents in %s durable: %w; see to the disk",
			quoted(s.dir),
			err,
		)
	}
	for name := range texts {
		s.step("rename " + name)
		if err := s.root.Rename(redoPrefix+name+redoSuffix, name); err != nil {
			return fmt.Errorf(
				"put a handoff document in its place: %w; see to the permissions of %s",
				err,
				quoted(s.dir),
			)
		}
	}
	s.step("done")
	return nil
}

// recover completes an interrupted commit: new documents in the manifest are renamed to their
// names, others are removed.
func (s *store) recover(m *manifest) error {
	names, err := s.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		target, ok := strings.CutSuffix(name, redoSuffix)
		if !ok || !strings.HasPrefix(name, redoPrefix) {
			continue
		}
		text, err := s.read(name, maxFile)
		if err != nil {
			continue
		}
		id, channel, _, err := parseFile(string(text))
		switch {
		case err != nil || channel != comment(m.Channel):
			continue // incomplete, or another channel's: the next writer replaces it
		case m.find(id) != nil:
			err = s.root.Rename(name, target[len(redoPrefix):])
		default:
			err = s.root.Remove(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// names lists the folder.
func (s *store) names() ([]string, error) {
	d, err := s.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// load reads a channel's manifest and completes an interrupted commit. A damaged manifest is
// set aside and logged. Without a manifest it returns an empty one.
func (s *store) load(channel string, now time.Time) (*manifest, error) {
	name := manifestFile(channel)
	empty := &manifest{Channel: channel}
	data, err := s.read(name, maxManifest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return empty, nil
	case err == nil, errors.Is(err, files.ErrIrregular), errors.Is(err, errTooLarge):
	default:
		return nil, fmt.Errorf(
			"read manifest of channel %s: %w; make it readable",
			quoted(channel),
			err,
		)
	}
	m := empty
	if err == nil {
		m, err = decodeManifest(data, channel)
	}
	switch {
	case errors.Is(err, errChannel):
		return nil, fmt.Errorf(
			"manifest %s: %w; give one of the two channels another name",
			quoted(name),
			err,
		)
	case err == nil:
		if err := s.recover(m); err != nil {
			return nil, fmt.Errorf(
				"finish an interrupted handoff document of channel %s: %w; see to the permissions of %s",
				quoted(channel),
				err,
				quoted(s.dir),
			)
		}
		return m, nil
	}
	aside, asideErr := files.SetAside(s.root, name, now)
	if asideErr != nil {
		return nil, fmt.Errorf(
			"set aside damaged manifest %s: %w; move it away",
			quoted(name),
			asideErr,
		)
	}
	s.log.Warn("a manifest of handoff documents was damaged; it is set aside and the channel starts afresh",
		"manifest", filepath.Join(
			s.dir,
			name,
		), "kept", filepath.Join(
			s.dir,
			aside,
		), "err", err)
	return empty, nil
}
