package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
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

// damage is what a file suffers from that cannot be used as it is.
type damage struct{ cause error }

func (d *damage) Error() string { return d.cause.Error() }
func (d *damage) Unwrap() error { return d.cause }

// guard turns panics and faults into damage. bbolt panics on pages that it does not
// understand, and reads a mapped file: where the disk fails, or the file has become
// shorter, the processor faults.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = &damage{fmt.Errorf("panic: %v", p)}
		}
	}()
	return f()
}

// openFile opens the state file and reads what the store needs to know of it. Pages
// and records are checked before bbolt sees them: a record whose key is damaged would
// never be looked at, only missed.
func (s *Store) openFile() error {
	if err := regular(s.root, FileName); err != nil {
		return err
	}
	f, err := s.root.OpenFile(FileName, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w; check its owner, or choose another directory with --state", s.path(), err)
	}
	if err := f.Chmod(0o600); err != nil {
		f.Close()
		return fmt.Errorf("open %s: %w; check its owner, or choose another directory with --state", s.path(), err)
	}
	before := len(s.lost)
	s.claimed = known{}
	if err := checkPages(f, s.checkRecord); err != nil {
		f.Close()
		return fmt.Errorf("check %s: %w", s.path(), err)
	}
	if err := s.attach(f); err != nil {
		return fmt.Errorf("open %s: %w", s.path(), err)
	}
	if err := s.view(s.readHead); err != nil {
		s.drop(err)
		return fmt.Errorf("open %s: %w", s.path(), err)
	}
	if n := len(s.lost) - before; n > 0 {
		s.log.Error("state file has damaged records: dropped them, the rest holds", "file", s.path(), "records", n)
	}
	return nil
}

func (s *Store) checkRecord(bucket string, key, value []byte) {
	if _, ok := unseal(bucket, key, value); !ok {
		s.lost[place{bucket, string(key)}] = false
	}
}

// ready opens the file again if an error has closed it. A failed sync of the newest
// meta page leaves a transaction that the kernel shows and the disk may not have.
// bbolt would go on from there and overwrite pages that only the transaction before
// needs, which is what a power failure would find. So the file is then written anew,
// and every page of it synced.
func (s *Store) ready() error {
	if s.closed {
		return ErrClosed
	}
	if s.db == nil {
		if err := s.reopen(); err != nil {
			return err
		}
	}
	if !s.doubt {
		return nil
	}
	old := s.db
	err := s.replaceFile(func(db *bbolt.DB) error { return bbolt.Compact(db, old, 1<<20) })
	if err != nil {
		return fmt.Errorf("write %s anew after an error: %w", s.path(), err)
	}
	s.doubt = false
	return nil
}

func (s *Store) reopen() error {
	if err := s.openFile(); err != nil {
		return fmt.Errorf("%w; restart the observer", err)
	}
	s.doubt = s.doubt || s.newest != s.acked
	return nil
}

// view reads within one transaction.
func (s *Store) view(f func(*bbolt.Tx) error) error {
	if s.closed {
		return ErrClosed
	}
	if s.db == nil {
		return fmt.Errorf("%s could not be opened again after an error; restart the observer", s.path())
	}
	err := guard(func() error { return s.db.View(f) })
	if _, ok := errors.AsType[*damage](err); ok {
		s.drop(err)
	}
	return err
}

// update writes one transaction; done follows when it is on the disk. The caller
// holds mu and writing. mu is free while the transaction is put together and stored, for who only reads need not wait
// for that: f changes nothing of the Store. After an error
// the file is opened again, for what bbolt then has in memory is not to be trusted.
func (s *Store) update(f func(*bbolt.Tx) error, done func()) error {
	id, err := 0, error(nil)
	err = guard(func() error {
		tx, err := s.db.Begin(true)
		if err != nil {
			return err
		}
		id = tx.ID()
		s.mu.Unlock()
		defer s.mu.Lock()
		defer tx.Rollback() // after a commit it does nothing; before mu, for Close holds that while it waits for tx
		if err := f(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
	if err == nil {
		s.acked, s.owners.stored = id, len(s.owners.keys)
		done()
		return nil
	}
	s.drop(err)
	if again := s.reopen(); again != nil {
		return fmt.Errorf("%w (and then: %w)", err, again)
	}
	return err
}

// createFile makes an empty state file.
func (s *Store) createFile() error {
	err := s.replaceFile(func(db *bbolt.DB) error {
		return db.Update(func(tx *bbolt.Tx) error { return makeBuckets(tx, head{created: s.now}) })
	})
	if err != nil {
		return fmt.Errorf("make %s: %w; free some space, or choose another directory with --state", s.path(), err)
	}
	return nil
}

// replaceFile builds a new file and puts it in the place of the old one.
func (s *Store) replaceFile(fill func(*bbolt.DB) error) error {
	if err := s.root.Remove(freshName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := s.root.OpenFile(freshName, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := f.Chmod(0o600); err != nil { // the umask may have taken even that
		f.Close()
		return err
	}
	var db *bbolt.DB
	err = guard(func() (err error) {
		if db, err = openBolt(f); err != nil {
			return err
		}
		return fill(db)
	})
	if err == nil {
		err = s.root.Rename(freshName, FileName)
	}
	if err != nil {
		discard(db, f, err)
		return errors.Join(err, s.root.Remove(freshName))
	}
	s.drop(nil)
	s.db, s.file = db, f
	if err := s.view(s.readHead); err != nil {
		return err
	}
	s.acked = s.newest
	return syncDir(s.root.Open("."))
}

// attach gives f to bbolt.
func (s *Store) attach(f *os.File) error {
	err := guard(func() (err error) {
		s.db, err = openBolt(f)
		return err
	})
	if err != nil {
		s.db = nil
		f.Close()
		return err
	}
	s.file = f
	return nil
}

// openBolt keeps the list of free pages in the file. Without it bbolt would have to
// walk all pages at each start and after each failed transaction, in a goroutine of
// its own where no fault can be caught; and a pointer to a page that is free could
// not be told from a good one.
func openBolt(f *os.File) (*bbolt.DB, error) {
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
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return nil, &damage{err}
	case err != nil:
		return nil, err
	}
	db.AllocSize = growth
	return db, nil
}

// drop closes the file if there is one; cause is what went wrong with it, if anything.
func (s *Store) drop(cause error) error {
	db, f := s.db, s.file
	s.db, s.file = nil, nil
	return discard(db, f, cause)
}

// discard closes what there is. After a panic bbolt may hold its own locks for good:
// then only the file is closed, and its mapping stays until the process ends.
func discard(db *bbolt.DB, f *os.File, cause error) error {
	if _, panicked := errors.AsType[*damage](cause); db != nil && !panicked {
		return guard(db.Close)
	}
	if f != nil {
		return f.Close()
	}
	return nil
}

// setAside renames the state file.
func (s *Store) setAside() (name string, err error) {
	for n := 1; ; n++ {
		name = fmt.Sprintf("%s.damaged-%d-%d", FileName, s.now.Unix(), n)
		if _, err := s.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return "", err
		}
	}
	if err := s.root.Rename(FileName, name); err != nil {
		return "", err
	}
	return filepath.Join(s.dir, name), syncDir(s.root.Open("."))
}
