package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"sm/handoff/files"
)

const (
	// FileName is the name of the state file in its directory.
	FileName = "state.db"
	// freshName is the name of a state file that is being written. It is
	// renamed when it is complete and synced, so that a kill never leaves a
	// partial state file.
	freshName = "state.db.new"
)

const (
	// mapped is the initial size of the mapping; bbolt remaps a file that
	// outgrows it. Addresses cost nothing; only pages that are used take
	// memory.
	mapped = 16 << 20
	// growth is how much the file grows at a time: bbolt's default of 16 MiB is
	// more than most state files ever need.
	growth = 1 << 20
)

// guard converts panics and faults of f to [files.ErrDamaged]. bbolt panics on
// invalid pages, and reads a mapped file: the processor faults if the disk
// fails or the file was truncated.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: panic: %v", files.ErrDamaged, p)
		}
	}()
	return f()
}

// contents has the results of inspect.
type contents struct {
	schema  int // the version of the layout
	head    head
	dropped int // damaged records
}

// open opens and checks the file unless it is open.
func (s *Store) open() error {
	if s.closed {
		return ErrClosed
	}
	if s.db != nil {
		return nil
	}
	f, err := openRegular(s.root, FileName, os.O_RDWR)
	if err != nil {
		return err
	}
	var db *bbolt.DB
	err = guard(func() (err error) {
		if db, err = openBolt(f); err != nil {
			return err
		}
		return db.View(func(tx *bbolt.Tx) error { return s.inspect(tx, f) })
	})
	if err != nil {
		_ = discard(db, f, err)
		return fmt.Errorf("open %s: %w", s.path(), err)
	}

	s.db = db
	s.file = f
	if s.dropped > 0 {
		s.log.Error(
			"state file has damaged records: dropped",
			"file", s.path(),
			"records", s.dropped,
		)
	}
	s.rewrite = s.rewrite || s.schema != schema || s.dropped > 0 ||
		!s.head.Settled && s.head.Digest.Records > 0
	return nil
}

// inspect checks the whole file and reads its head.
func (s *Store) inspect(tx *bbolt.Tx, f *os.File) error {
	s.contents = contents{}
	s.rewrite = s.rewrite || s.acked > 0 && tx.ID() != s.acked
	s.acked = tx.ID()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if tx.Size() > info.Size() {
		return fmt.Errorf("%w: %d bytes of %d are left", files.ErrDamaged, info.Size(), tx.Size())
	}
	if err := s.readSchema(tx); err != nil {
		return err
	}

	var found digest
	for _, name := range bucketsOf(s.schema) {
		b := tx.Bucket([]byte(name))
		if b == nil {
			return fmt.Errorf("%w: bucket %s is missing", files.ErrDamaged, name)
		}
		err := b.ForEach(func(k, v []byte) error {
			if name == metaBucket && string(k) == headRecord {
				return nil
			}
			if _, ok := unseal(name, k, v); !ok {
				s.dropped++
			}
			found.add(v)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := s.readHead(tx); err != nil {
		return err
	}
	want := s.head.Digest
	if s.schema == schema &&
		(found.Records != want.Records || s.dropped == 0 && found.Sum != want.Sum) {
		return fmt.Errorf(
			"%w: %d records of %d are there",
			files.ErrDamaged,
			found.Records,
			want.Records,
		)
	}
	return nil
}

// ready prepares the file for a transaction. It rewrites the file if necessary:
// to convert an old one, to drop damaged records or those of an interrupted
// first start, and after a failed sync of the newest meta page. In that case
// the kernel's cache has a transaction that may be missing on the disk, and
// bbolt would overwrite pages that the previous transaction needs.
func (s *Store) ready() error {
	if err := s.open(); err != nil || !s.rewrite {
		return err
	}
	err := s.replaceFile(func(w *writer) error {
		return s.db.View(func(tx *bbolt.Tx) error { return s.records(tx, w.copy) })
	})
	if err != nil {
		return fmt.Errorf("write %s anew: %w", s.path(), err)
	}
	return nil
}

// view calls f in a read transaction.
func (s *Store) view(f func(*bbolt.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return err
	}
	err := guard(func() error { return s.db.View(f) })
	if errors.Is(err, files.ErrDamaged) {
		_ = s.drop(err)
	}
	return err
}

// update commits changes. The caller holds mu and writing. mu is released
// meanwhile, so that readers need not wait: f must not change the Store. After
// an error the next use opens the file again, because bbolt's memory may differ
// from it. After damage it is also rewritten, as inspect does not check the
// list of free pages.
func (s *Store) update(f func(*writer) error) error {
	w := &writer{
		db:   s.db,
		head: s.head,
	}
	if !s.head.Settled {
		w.limit = bulk
	}
	s.mu.Unlock()
	err := guard(func() error { return w.run(f) })
	s.mu.Lock()
	if err == nil {
		s.acked = w.id
		s.head = w.head
		return nil
	}

	s.rewrite = s.rewrite || errors.Is(err, files.ErrDamaged)
	return errors.Join(err, s.drop(err))
}

// replaceFile creates a new file and replaces the old one by it.
func (s *Store) replaceFile(fill func(*writer) error) error {
	_ = s.root.Remove(freshName)
	f, err := s.root.OpenFile(freshName, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	w := &writer{limit: bulk}
	err = guard(func() (err error) {
		if w.db, err = openBolt(f); err != nil {
			return err
		}
		return w.run(func(w *writer) error {
			for _, name := range bucketsOf(schema) {
				if _, err := w.tx.CreateBucket([]byte(name)); err != nil {
					return err
				}
			}
			w.putBytes(metaBucket, []byte(schemaRecord), binary.AppendVarint(nil, schema))
			return fill(w)
		})
	})
	if err == nil {
		err = s.root.Rename(freshName, FileName)
	}
	if err != nil {
		return errors.Join(err, discard(w.db, f, err), s.root.Remove(freshName))
	}

	_ = s.drop(nil)
	s.db = w.db
	s.file = f
	s.schema = schema
	s.head = w.head
	s.acked = w.id
	s.rewrite = false
	return files.Sync(s.root)
}

// openBolt opens a file with bbolt. The list of free pages is kept in the file:
// otherwise bbolt would walk all pages at each start and after each failed
// transaction, in a goroutine of its own in which no fault can be caught.
func openBolt(f *os.File) (*bbolt.DB, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if filepath.Base(f.Name()) == FileName && info.Size() < int64(2*os.Getpagesize()) {
		// bbolt would initialize an empty file.
		return nil, fmt.Errorf("%w: it has %d bytes", files.ErrDamaged, info.Size())
	}
	db, err := bbolt.Open(f.Name(), 0o600, &bbolt.Options{
		OpenFile:        func(string, int, os.FileMode) (*os.File, error) { return f, nil },
		Timeout:         time.Millisecond, // one attempt, as we have our own lock
		FreelistType:    bbolt.FreelistMapType,
		InitialMmapSize: mapped,
		NoStatistics:    true,
	})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, errors.New("another program has it open; close it and start again")
	case errors.Is(err, berrors.ErrInvalid),
		errors.Is(err, berrors.ErrChecksum),
		errors.Is(err, berrors.ErrVersionMismatch):
		return nil, fmt.Errorf("%w: %w", files.ErrDamaged, err)
	case err != nil:
		return nil, err
	}
	db.AllocSize = growth
	return db, nil
}

// drop closes the file if it is open; cause is the error that led to this, if
// any.
func (s *Store) drop(cause error) error {
	err := discard(s.db, s.file, cause)
	s.db = nil
	s.file = nil
	return err
}

// discard closes the database, or after damage only the file: bbolt may have
// panicked with its locks held. In that case the mapping remains until the
// process ends, and so would bbolt's lock of the file, which is therefore
// released.
func discard(db *bbolt.DB, f *os.File, cause error) error {
	if db != nil && !errors.Is(cause, files.ErrDamaged) {
		return guard(db.Close)
	}
	if f != nil {
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
		return f.Close()
	}
	return nil
}
