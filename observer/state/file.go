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
	// freshName is a state file in the making: it gets its real name when it is
	// complete and on the disk, so that a kill never leaves half a file under it.
	freshName = "state.db.new"
)

const (
	// bbolt maps the file and remaps when it outgrows the mapping. The addresses
	// cost nothing; only pages that are used take memory.
	mapped = 16 << 20
	// The file grows by this much at a time: bbolt's own 16 MiB are more than most
	// state files ever hold.
	growth = 1 << 20
)

// guard turns panics and faults into [files.ErrDamaged]. bbolt panics on pages that it does not
// understand, and reads a mapped file: where the disk fails, or the file has become
// shorter, the processor faults.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: panic: %v", files.ErrDamaged, p)
		}
	}()
	return f()
}

// contents is what inspect finds in the file.
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

// ready prepares the file for a transaction. It writes the file anew where needed:
// to convert an old one, to leave out damaged records or those of an interrupted
// first start, and after a failed sync of the newest meta page. The kernel then
// shows a transaction that may be missing on the disk, and bbolt would overwrite
// pages that the one before it needs.
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

// view reads within one transaction.
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

// update commits changes. The caller holds mu and writing. mu is free meanwhile, so
// that readers need not wait: f must not change the Store. After an error the file
// is opened again by the next use, because bbolt's memory may differ from it; after
// damage, which inspect does not find in the list of free pages, it is also written anew.
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

// replaceFile builds a new file and puts it in the place of the old one.
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

// openBolt keeps the list of free pages in the file. Without it bbolt would have to
// walk all pages at each start and after each failed transaction, in a goroutine of
// its own where no fault can be caught.
func openBolt(f *os.File) (*bbolt.DB, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if filepath.Base(f.Name()) == FileName && info.Size() < int64(2*os.Getpagesize()) {
		// bbolt would fill an empty one.
		return nil, fmt.Errorf("%w: it has %d bytes", files.ErrDamaged, info.Size())
	}
	db, err := bbolt.Open(f.Name(), 0o600, &bbolt.Options{
		OpenFile:        func(string, int, os.FileMode) (*os.File, error) { return f, nil },
		Timeout:         time.Millisecond, // one try: the lock that counts is ours
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

// drop closes the file if there is one; cause is what went wrong with it, if anything.
func (s *Store) drop(cause error) error {
	err := discard(s.db, s.file, cause)
	s.db = nil
	s.file = nil
	return err
}

// discard closes the database, or after damage the file alone: bbolt may have
// panicked with its locks held. The mapping then stays until the process ends, and
// with it bbolt's lock of the file, unless it is released.
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
