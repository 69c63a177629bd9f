package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
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

// contents is what openFile learns about the file.
type contents struct {
	schema  int // the version of the layout
	head    head
	newest  int // the last transaction in the file
	dropped int // damaged records
}

// openFile opens and checks the state file.
func (s *Store) openFile() error {
	if err := regular(s.root, FileName); err != nil {
		return err
	}
	f, err := s.root.OpenFile(FileName, os.O_RDWR, 0)
	if err == nil {
		if err = f.Chmod(0o600); err != nil {
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		return fmt.Errorf(
			"open %s: %w; check its owner, or choose another directory with --state",
			s.path(),
			err,
		)
	}

	info, err := f.Stat()
	if err == nil &&
		info.Size() < int64(2*os.Getpagesize()) { // bbolt would fill an empty one
		err = damaged("it has %d bytes", info.Size())
	}
	if err != nil {
		return errors.Join(fmt.Errorf("open %s: %w", s.path(), err), f.Close())
	}
	if err := s.attach(f); err != nil {
		return fmt.Errorf("open %s: %w", s.path(), err)
	}
	if err := s.view(s.inspect); err != nil {
		return errors.Join(fmt.Errorf("open %s: %w", s.path(), err), s.drop(err))
	}
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
func (s *Store) inspect(tx *bbolt.Tx) error {
	s.contents = contents{newest: tx.ID()}
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	if tx.Size() > info.Size() {
		return damaged("%d bytes of %d are left", info.Size(), tx.Size())
	}

	pages := &checker{tx: tx, file: s.file, seen: map[int]bool{}}
	if err := pages.tree(int(tx.Cursor().Bucket().Root()), nil); err != nil {
		return err
	}
	if err := pages.bucket(metaBucket); err != nil {
		return err
	}
	if err := s.readSchema(tx); err != nil {
		return err
	}
	names := buckets()
	if s.schema == 1 {
		names = append(names, ownersBucket)
	}
	for _, name := range names[1:] {
		if err := pages.bucket(name); err != nil {
			return err
		}
	}

	found, err := s.count(tx, names)
	if err != nil {
		return err
	}
	if err := s.readHead(tx); err != nil {
		return err
	}
	want := s.head.Digest
	if s.schema == schema &&
		(found.Records != want.Records || s.dropped == 0 && found.Sum != want.Sum) {
		return damaged("records are missing: %d of %d", found.Records, want.Records)
	}
	return nil
}

// count sums up the records of the file, and counts those that are damaged.
func (s *Store) count(tx *bbolt.Tx, names []string) (found digest, err error) {
	for _, name := range names {
		c := tx.Bucket([]byte(name)).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if name == metaBucket && string(k) == headRecord {
				continue
			}
			if _, ok := unseal(name, k, v); !ok {
				s.dropped++
			}
			found.add(v)
		}
	}
	return found, nil
}

// ready prepares the file for a transaction. It reopens a file that an error has
// closed, and writes it anew where needed: to convert an old one, to leave out
// damaged records or those of an interrupted first start, and after a failed sync
// of the newest meta page. The kernel then shows a transaction that may be missing
// on the disk, and bbolt would overwrite pages that the one before it needs.
func (s *Store) ready() error {
	if s.closed {
		return ErrClosed
	}
	if s.db == nil {
		if err := s.reopen(); err != nil {
			return err
		}
	}
	if !s.rewrite {
		return nil
	}

	dropped := s.dropped
	err := s.replaceFile(func(put putFunc) error {
		return s.db.View(func(tx *bbolt.Tx) error { return s.records(tx, put) })
	})
	if err != nil {
		return fmt.Errorf("write %s anew: %w", s.path(), err)
	}
	s.rewrite = false
	s.dropped = dropped
	return nil
}

func (s *Store) reopen() error {
	if err := s.openFile(); err != nil {
		return fmt.Errorf("%w; restart the observer", err)
	}
	s.rewrite = s.rewrite || s.newest != s.acked
	return nil
}

// view reads within one transaction.
func (s *Store) view(f func(*bbolt.Tx) error) error {
	if s.closed {
		return ErrClosed
	}
	if s.db == nil {
		return fmt.Errorf(
			"%s could not be opened again after an error; restart the observer",
			s.path(),
		)
	}
	err := guard(func() error { return s.db.View(f) })
	if _, ok := errors.AsType[*damage](err); ok {
		s.drop(err)
	}
	return err
}

// update commits one transaction. If bbolt finds its list of free pages damaged,
// which inspect does not read, the file is written anew and f called again.
func (s *Store) update(f func(*writer)) error {
	err := s.commit(f)
	if _, ok := errors.AsType[*damage](err); !ok || s.db == nil {
		return err
	}

	s.log.Error(
		"state file has a damaged list of free pages: writing it anew",
		"file", s.path(),
		"err", err,
	)
	s.rewrite = true
	if err := s.ready(); err != nil {
		return err
	}
	return s.commit(f)
}

// commit commits one transaction. The caller holds mu and writing. mu is free
// meanwhile, so that readers need not wait: f must not change the Store. After an
// error the file is reopened, because bbolt's memory may differ from it.
func (s *Store) commit(f func(*writer)) error {
	w := writer{encode: s.encode, head: s.head}
	id := 0
	err := guard(func() error {
		tx, err := s.db.Begin(true)
		if err != nil {
			return err
		}
		id = tx.ID()
		w.tx = tx
		s.mu.Unlock()
		defer s.mu.Lock()
		defer tx.Rollback() // before mu, which Close holds while it waits for tx
		f(&w)
		return w.commit()
	})
	if err == nil {
		s.acked = id
		s.head = w.head
		return nil
	}

	_ = s.drop(err)
	if again := s.reopen(); again != nil {
		return fmt.Errorf("%w (and then: %w)", err, again)
	}
	return err
}

// createFile makes an empty state file.
func (s *Store) createFile() error {
	err := s.replaceFile(func(put putFunc) error {
		return put(metaBucket, []byte(headRecord), nil)
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

func (s *Store) removeFresh() error {
	if err := s.root.Remove(freshName); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// replaceFile builds a new file and puts it in the place of the old one.
func (s *Store) replaceFile(fill func(putFunc) error) error {
	if err := s.removeFresh(); err != nil {
		return err
	}
	f, err := s.root.OpenFile(freshName, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	var db *bbolt.DB
	var made contents
	err = f.Chmod(0o600) // the umask may have cleared these bits
	if err == nil {
		err = guard(func() (err error) {
			if db, err = openBolt(f); err != nil {
				return err
			}
			made, err = s.build(db, fill)
			return err
		})
	}
	if err == nil {
		err = s.root.Rename(freshName, FileName)
	}
	if err != nil {
		return errors.Join(err, discard(db, f, err), s.root.Remove(freshName))
	}

	_ = s.drop(nil)
	s.db = db
	s.file = f
	s.contents = made
	s.acked = made.newest
	return syncDir(s.root.Open("."))
}

// putFunc adds a record to a new file.
type putFunc func(bucket string, key, data []byte) error

// build lays out a file and fills it, in transactions of limited size. An
// interruption leaves no file under the final name.
func (s *Store) build(db *bbolt.DB, fill func(putFunc) error) (contents, error) {
	w := writer{encode: s.encode}
	var err error
	if w.tx, err = db.Begin(true); err != nil {
		return contents{}, err
	}
	defer func() { _ = w.tx.Rollback() }()

	for _, name := range buckets() {
		if _, err := w.tx.CreateBucket([]byte(name)); err != nil {
			return contents{}, err
		}
	}
	w.putSchema()
	puts := 0
	err = fill(func(bucket string, key, data []byte) error {
		if bucket == metaBucket {
			switch string(key) {
			case schemaRecord, makerRecord:
				return nil
			case headRecord:
				return w.adopt(data, s.now)
			}
		}
		w.putBytes(bucket, key, data)
		if puts++; puts%bulk != 0 || w.err != nil {
			return w.err
		}
		if err := w.commit(); err != nil {
			return err
		}
		w.tx, err = db.Begin(true)
		return err
	})
	if err == nil && w.head.Created.IsZero() {
		err = damaged("record %s is missing", headRecord)
	}
	if err != nil {
		return contents{}, err
	}
	id := w.tx.ID()
	return contents{schema: schema, head: w.head, newest: id}, w.commit()
}

// attach opens f with bbolt.
func (s *Store) attach(f *os.File) error {
	err := guard(func() (err error) {
		s.db, err = openBolt(f)
		return err
	})
	if err != nil {
		s.db = nil
		_ = discard(nil, f, err) // bbolt may have closed it
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
	case errors.Is(
		err,
		berrors.ErrInvalid,
	), errors.Is(
		err,
		berrors.ErrChecksum,
	), errors.Is(
		err,
		berrors.ErrVersionMismatch,
	):
		return nil, &damage{err}
	case err != nil:
		return nil, err
	}
	db.AllocSize = growth
	return db, nil
}

// drop closes the file if there is one; cause is what went wrong with it, if anything.
func (s *Store) drop(cause error) error {
	db := s.db
	f := s.file
	s.db = nil
	s.file = nil
	return discard(db, f, cause)
}

// discard closes the database, or after damage the file alone: bbolt may have
// panicked with its locks held. The mapping then stays until the process ends, and
// with it bbolt's lock of the file, unless it is released.
func discard(db *bbolt.DB, f *os.File, cause error) error {
	if _, damaged := errors.AsType[*damage](cause); db != nil && !damaged {
		return guard(db.Close)
	}
	if f != nil {
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
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
