// Package state stores the observer's state in one bbolt file, in a directory
// that one process at a time can open.
//
// Invariants: a second process gets the pid of the first. After a kill at any
// point the file has the state of the last successful Save, or that of the
// interrupted one, never a mixture. A damaged file is renamed, never deleted or
// silently replaced; a file of a newer version is refused and left unchanged.
// Each record has a checksum, so that a flipped bit loses one record.
//
// The package reads no clock, and leaves no goroutines running after a call.
package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"
	"go.etcd.io/bbolt"
	"golang.org/x/sync/errgroup"

	"sm/handoff/files"
	"sm/observer/fleet"
	"sm/transcript"
)

// ErrClosed is returned by the methods of a closed Store.
var ErrClosed = errors.New("the state is closed")

// Store is an open state directory. Its methods may be called concurrently.
type Store struct {
	root *os.Root
	now  time.Time // when the store was opened
	log  *slog.Logger
	lock *os.File

	// writing is held while the file is changed, and is taken before mu. mu
	// guards the fields below; it is free while a transaction is committed.
	writing sync.Mutex
	mu      sync.Mutex
	closed  bool

	db   *bbolt.DB // nil after a failed transaction if the file could not be reopened
	file *os.File  // used by db

	contents
	acked   int  // the last transaction that was synced
	rewrite bool // the file must be rewritten before the next transaction

	ownerFailed sync.Once
}

// Value is a record of the caller, stored beside the fleet's records.
type Value struct {
	Name string // not empty
	Data []byte // nil to remove it
}

// Open locks the state directory, which it creates if necessary, and opens the
// file in it. A damaged file is set aside. It returns an error if another
// process holds the lock.
func Open(dir string, log *slog.Logger, now time.Time) (*Store, error) {
	s, err := openLocked(dir, log, now)
	if err != nil {
		return nil, err
	}
	if err := s.begin(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openLocked opens and locks the directory, but not the file.
func openLocked(dir string, log *slog.Logger, now time.Time) (*Store, error) {
	root, err := files.OpenPrivate(dir, "choose another with --state")
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	lock, err := takeLock(root)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Store{
		root: root,
		now:  now,
		log:  log,
		lock: lock,
	}, nil
}

// begin opens the file, and creates one if there is none or it is damaged.
func (s *Store) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()

	err := s.ready()
	if errors.Is(err, files.ErrDamaged) {
		_ = s.drop(err)
		aside, failed := files.SetAside(s.root, FileName, s.now)
		if failed != nil {
			return fmt.Errorf("set the damaged %s aside (%w): %w", s.path(), err, failed)
		}
		s.dropped = 0
		s.log.Error("state file was damaged: set aside, starting anew from the transcripts",
			"file", s.path(), "set_aside", aside, "err", err)
		err = fs.ErrNotExist
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	err = s.replaceFile(func(w *writer) error {
		w.head.Created = s.now
		return nil
	})
	if err != nil {
		return fmt.Errorf(
			"make %s: %w; free some space, or choose another directory with --state",
			s.path(),
			err,
		)
	}
	return nil
}

// Close closes the file and unlocks the directory. It may be called again.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.drop(nil)
	_ = s.lock.Truncate(0) // no later error may contain our pid
	return errors.Join(err, s.lock.Close(), s.root.Close())
}

// CheckNames returns an error if the lock file or the state file was removed or
// replaced: another observer could start on the same transcripts, or a restart
// find no state.
func (s *Store) CheckNames() error {
	s.mu.Lock()
	defer s.mu.Unlock()

	for path, f := range map[string]*os.File{s.lock.Name(): s.lock, s.path(): s.file} {
		if f == nil {
			continue
		}
		held, err := f.Stat()
		if err != nil {
			return err
		}
		named, err := os.Lstat(path)
		if err != nil || !os.SameFile(held, named) {
			return fmt.Errorf("%s was removed or replaced; restart the observer", path)
		}
	}
	return nil
}

// Load reads the fleet's state, except for the agents.
func (s *Store) Load() (fleet.Stored, error) {
	var stored fleet.Stored
	err := s.view(func(tx *bbolt.Tx) error {
		stored = fleet.Stored{Created: s.head.Created, Settled: s.head.Settled}
		if data := record(tx, metaBucket, []byte(countersRecord)); data != nil {
			if err := cbor.Unmarshal(data, &stored.Counters); err != nil {
				return err
			}
		}
		var err error
		if stored.Files, err = readRecords[fleet.File](tx, filesBucket); err != nil {
			return err
		}
		stored.Records, err = readRecords[fleet.SessionRecord](tx, sessionsBucket)
		if err != nil {
			return err
		}
		return each(tx, compactionsBucket, func(k, data []byte) error {
			stored.Claims = append(stored.Claims, fleet.Claim{
				Key:   transcript.Key(binary.BigEndian.Uint64(k)),
				Owner: transcript.Key(binary.BigEndian.Uint64(data)),
			})
			return nil
		})
	})
	if err != nil {
		return fleet.Stored{}, fmt.Errorf("load state: %w", err)
	}
	return stored, nil
}

// readRecords decodes the undamaged records of a bucket, on all processors:
// this is most of the time of a restart.
func readRecords[T any](tx *bbolt.Tx, bucket string) ([]T, error) {
	var encoded [][]byte
	err := each(tx, bucket, func(_, data []byte) error {
		encoded = append(encoded, data)
		return nil
	})
	if err != nil {
		return nil, err
	}

	list := make([]T, len(encoded))
	workers := runtime.GOMAXPROCS(0)
	var group errgroup.Group
	for first := range workers {
		group.Go(func() error {
			return guard(func() error {
				for i := first; i < len(list); i += workers {
					if err := cbor.Unmarshal(encoded[i], &list[i]); err != nil {
						return fmt.Errorf("read a record of %s: %w", bucket, err)
					}
				}
				return nil
			})
		})
	}
	return list, group.Wait()
}

// Values calls f with all values in the order of their names, until f returns
// an error. The data is valid during the call; f must not use the store.
func (s *Store) Values(f func(Value) error) error {
	err := s.view(func(tx *bbolt.Tx) error {
		return each(tx, valuesBucket, func(k, data []byte) error {
			return f(Value{string(k), data})
		})
	})
	if err != nil {
		return fmt.Errorf("read state: %w", err)
	}
	return nil
}

// Owner returns the key of the session in which a message first happened.
func (s *Store) Owner(message transcript.Key) (owner transcript.Key, ok bool) {
	err := s.view(func(tx *bbolt.Tx) error {
		data := record(tx, messagesBucket, keyBytes(message))
		if ok = len(data) == 8; ok {
			owner = transcript.Key(binary.BigEndian.Uint64(data))
		}
		return nil
	})
	if err != nil {
		s.ownerFailed.Do(func() {
			s.log.Error("read state failed: messages count as new", "err", err)
		})
	}
	return owner, ok
}

// Dropped returns the number of damaged records in the file when it was opened.
func (s *Store) Dropped() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

func (s *Store) path() string { return filepath.Join(s.root.Name(), FileName) }

var _ fleet.Ledger = (*Store)(nil)
