// Package state keeps what must outlive the observer: one bbolt file and the lock of
// the directory that holds it.
//
// Invariants: one process at a time has a state directory, and a second process
// learns its pid. After a kill at any point there is what the last Save that returned
// nil had stored, or what the interrupted one was storing, never a mixture. A damaged
// file is set aside, never deleted and never silently replaced; a file made by a newer
// version is refused and left as it is. Each record carries a checksum, so that a
// flipped byte in one costs that record alone.
//
// It decides nothing, starts no goroutine, and knows no clock: the caller passes the
// time and says what to keep.
package state

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"sm/observer/fleet"
	"sm/transcript"
)

// ErrClosed is what a closed Store answers.
var ErrClosed = errors.New("the state is closed")

// Store is an open state directory. Its methods may be called from several
// goroutines; they wait for each other.
type Store struct {
	dir string
	now time.Time // of the start, for what is made now
	log *slog.Logger

	// writing is held by who changes the file, and taken before mu; mu guards all
	// that follows, but not while a transaction is on its way to the disk.
	writing sync.Mutex
	mu      sync.Mutex
	root    *os.Root
	lock    *os.File
	closed  bool

	// db is nil after a failed transaction whose file could not be opened again.
	db   *bbolt.DB
	file *os.File // the file that db reads and writes
	// newest is the number of the file's newest transaction when it was opened, acked
	// that of the last one that has surely reached the disk. When they differ after an
	// error, the file is in doubt: see ready.
	newest, acked int
	doubt         bool

	existing bool // whether a file that is not there, or is damaged, is refused instead of made anew

	head    head
	owners  owners
	claimed known
	lost    map[place]bool // damaged records, and whether they have been removed since
	blind   bool           // Owner could not read, and has said so
}

// Open takes the state directory, which it makes when there is none, and opens the
// file in it. The error is a *LockedError when another process has the directory.
func Open(dir string, log *slog.Logger, now time.Time) (*Store, error) {
	return open(dir, log, now, false)
}

// OpenExisting is Open for who only reads: a file that is not there, or cannot be used, is an error and stays as it is.
func OpenExisting(dir string, log *slog.Logger, now time.Time) (*Store, error) {
	return open(dir, log, now, true)
}

func open(dir string, log *slog.Logger, now time.Time, existing bool) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	root, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, now: now, log: log, root: root, lost: map[place]bool{}, existing: existing}
	if s.lock, err = takeLock(root, dir); err != nil {
		root.Close()
		return nil, err
	}
	if err := s.begin(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// begin opens the file, or makes one where there is none or where it is damaged.
func (s *Store) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.root.Remove(freshName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove an unfinished state file: %w", err)
	}
	err := s.openFile()
	if s.existing && err != nil {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return s.createFile()
	}
	if err == nil {
		s.acked = s.newest
		err = s.forgetUnsettled()
	}
	if d, ok := errors.AsType[*damage](err); ok {
		return s.startAnew(d)
	}
	return err
}

// startAnew sets the file aside and makes another.
func (s *Store) startAnew(d *damage) error {
	s.drop(d)
	aside, err := s.setAside()
	if err != nil {
		return fmt.Errorf("set the damaged %s aside (%w): %w", s.path(), d, err)
	}
	clear(s.lost) // they were that file's
	s.log.Error("state file was damaged: set aside, starting anew from the transcripts",
		"file", s.path(), "set_aside", aside, "err", d)
	return s.createFile()
}

// Close releases the directory. It may be called again.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.drop(nil)
	return errors.Join(err, releaseLock(s.lock), s.root.Close())
}

// CheckLock says whether the directory is still ours. The lock file may have been
// removed or replaced, and then another observer can start; or the state file, and
// then nothing that is saved will be found again.
func (s *Store) CheckLock() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	err := stands(s.lock, filepath.Join(s.dir, lockName))
	if err == nil && s.file != nil {
		err = stands(s.file, s.path())
	}
	if err != nil {
		return fmt.Errorf("%w; restart the observer", err)
	}
	return nil
}

// Owner says which session a message first happened in. It makes a Store a
// fleet.Ledger.
func (s *Store) Owner(message transcript.Key) (owner transcript.Key, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db != nil && s.claimed.lacks(uint64(message)) {
		return 0, false
	}
	err := s.view(func(tx *bbolt.Tx) error {
		if number, found := messageLedger.find(tx, message); found {
			owner, ok = s.owners.key(number)
		}
		s.claimed.survey(tx)
		return nil
	})
	if err != nil && !s.blind {
		s.log.Error("the state cannot be read: messages count as new", "err", err)
	}
	s.blind = err != nil
	return owner, ok
}

// Dropped counts the records that were found damaged when the file was opened.
func (s *Store) Dropped() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lost)
}

// place is where a record stands.
type place struct{ bucket, key string }

func (s *Store) path() string { return filepath.Join(s.dir, FileName) }

var _ fleet.Ledger = (*Store)(nil)
