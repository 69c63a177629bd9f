// Package state stores what must outlive the observer: one bbolt file in a
// directory that one process at a time can open.
//
// Invariants: a second process gets the pid of the first. After a kill at any
// point the file holds what the last successful Save stored, or what the
// interrupted one was storing, never a mixture. A damaged file is renamed, never
// deleted or silently replaced; a file of a newer version is refused and left
// unchanged. Each record has a checksum, so that a flipped bit loses one record.
//
// The package reads no clock, and starts no goroutine that outlives a call.
package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"
	"go.etcd.io/bbolt"

	"sm/observer/fleet"
	"sm/transcript"
)

// ErrClosed is returned by the methods of a closed Store.
var ErrClosed = errors.New("the state is closed")

// Store is an open state directory. Its methods may be called concurrently.
type Store struct {
	dir    string
	now    time.Time // when the store was opened
	log    *slog.Logger
	encode cbor.EncMode

	// writing is held while the file is changed, and is taken before mu. mu
	// guards the fields below; it is free while a transaction is committed.
	writing sync.Mutex
	mu      sync.Mutex
	root    *os.Root
	lock    *os.File
	closed  bool

	// db is nil after a failed transaction if the file could not be reopened.
	db   *bbolt.DB
	file *os.File // used by db

	readOnly bool // the file is neither made nor replaced
	contents
	acked   int  // the last transaction that was synced
	rewrite bool // the file must be written anew before the next transaction
	blind   bool // a failure of Owner has been logged
}

// Open locks the state directory, which it makes if there is none, and opens the
// file in it. It returns a *LockedError if another process holds the lock.
func Open(dir string, log *slog.Logger, now time.Time) (*Store, error) {
	return open(dir, log, now, false)
}

// OpenExisting opens a state for reading. It returns an error if the file is
// missing or damaged, and leaves it unchanged.
func OpenExisting(dir string, log *slog.Logger, now time.Time) (*Store, error) {
	return open(dir, log, now, true)
}

func open(dir string, log *slog.Logger, now time.Time, readOnly bool) (*Store, error) {
	s, err := openLocked(dir, log, now)
	if err != nil {
		return nil, err
	}
	s.readOnly = readOnly

	if err := s.begin(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openLocked opens and locks the directory alone.
func openLocked(dir string, log *slog.Logger, now time.Time) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	root, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	lock, err := takeLock(root, dir)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	encode, err := cbor.EncOptions{Time: cbor.TimeRFC3339NanoUTC}.EncMode()
	if err != nil {
		return nil, errors.Join(err, releaseLock(lock), root.Close())
	}

	return &Store{
		dir:    dir,
		now:    now,
		log:    log,
		encode: encode,
		root:   root,
		lock:   lock,
	}, nil
}

// begin opens the file. It makes one if there is none or it is damaged.
func (s *Store) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if err := s.removeFresh(); err != nil {
		return fmt.Errorf("remove an unfinished state file: %w", err)
	}
	err := s.openFile()
	if s.readOnly {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return s.createFile()
	}
	if err == nil {
		s.acked = s.newest
		err = s.ready()
	}
	if d, ok := errors.AsType[*damage](err); ok {
		return s.startAnew(d)
	}
	return err
}

// startAnew renames the damaged file and makes a new one.
func (s *Store) startAnew(d *damage) error {
	_ = s.drop(d)
	aside, err := s.setAside()
	if err != nil {
		return fmt.Errorf("set the damaged %s aside (%w): %w", s.path(), d, err)
	}
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

// CheckLock returns an error if the lock file or the state file has been removed or
// replaced: another observer could start, or find nothing of what is stored.
func (s *Store) CheckLock() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	err := checkName(s.lock, filepath.Join(s.dir, lockName))
	if err == nil && s.file != nil {
		err = checkName(s.file, s.path())
	}
	if err != nil {
		return fmt.Errorf("%w; restart the observer", err)
	}
	return nil
}

// Owner returns the key of the session in which a message first happened.
func (s *Store) Owner(message transcript.Key) (owner transcript.Key, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	err := s.view(func(tx *bbolt.Tx) error {
		key := keyBytes(message)
		value := tx.Bucket([]byte(messagesBucket)).Get(key)
		data, sealed := unseal(messagesBucket, key, value)
		if ok = sealed && len(data) == 8; ok {
			owner = transcript.Key(binary.BigEndian.Uint64(data))
		}
		return nil
	})
	if err != nil && !s.blind {
		s.log.Error("read state failed: messages count as new", "err", err)
	}
	s.blind = err != nil

	return owner, ok
}

// Dropped returns the number of damaged records in the file when it was opened.
func (s *Store) Dropped() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

func (s *Store) path() string { return filepath.Join(s.dir, FileName) }

var _ fleet.Ledger = (*Store)(nil)
