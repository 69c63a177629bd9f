package state

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

// exportFormat names the format in its first line.
const exportFormat = "sm-state"

// An exportLine is a line of an export: the head, a record, or the end. Keys and values are the file's own bytes, so
// that an import has each record with its checksum.
type exportLine struct {
	Format string `json:"format,omitempty"` // of the head alone
	Schema int    `json:"schema,omitempty"`

	Bucket string `json:"bucket,omitempty"` // of a record alone
	Key    []byte `json:"key,omitempty"`
	Value  []byte `json:"value,omitempty"`

	Records *int `json:"records,omitempty"` // of the end alone: how many there were
}

// Export writes all that is stored as JSON lines, and returns the number of records. Damaged ones are left out: see Dropped.
func (s *Store) Export(w io.Writer) (records int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := bufio.NewWriter(w)
	out := json.NewEncoder(b)
	err = s.view(func(tx *bbolt.Tx) error {
		if err := out.Encode(exportLine{Format: exportFormat, Schema: schema}); err != nil {
			return err
		}
		for _, name := range buckets() {
			err := tx.Bucket([]byte(name)).ForEach(func(k, v []byte) error {
				if _, ok := unseal(name, k, v); !ok {
					return nil
				}
				records++
				return out.Encode(exportLine{Bucket: name, Key: k, Value: v})
			})
			if err != nil {
				return err
			}
		}
		return out.Encode(exportLine{Records: &records})
	})
	if err = errors.Join(err, b.Flush()); err != nil {
		return 0, fmt.Errorf("export state: %w", err)
	}
	return records, nil
}

// ExportFile exports the state of a directory that no observer has into a file that does not exist yet, or to out, unless
// that is nil.
func ExportFile(dir, file string, out io.Writer, log *slog.Logger, now time.Time) (records int, err error) {
	if _, err := os.Stat(filepath.Join(dir, FileName)); err != nil {
		return 0, fmt.Errorf("%w: no observer has run there; name its directory with --state", err)
	}
	s, err := OpenExisting(dir, log, now)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if out == nil {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return 0, fmt.Errorf("%w: name a file that does not exist yet", err)
		}
		records, err = s.Export(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return 0, errors.Join(err, os.Remove(file)) // it would be in the way of the next try
		}
	} else if records, err = s.Export(out); err != nil {
		return 0, err
	}
	if n := s.Dropped(); n > 0 {
		return records, fmt.Errorf("%d damaged records are left out; the other %d are exported", n, records)
	}
	return records, nil
}

// Import makes the state of a directory from an export, all of it or nothing, and returns the number of records. There
// must be no state yet. check returns why the observer could not read a value.
func Import(dir string, r io.Reader, check func(Value) error, log *slog.Logger, now time.Time) (records int, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return 0, fmt.Errorf("state directory: %w", err)
	}
	root, err := openDir(dir)
	if err != nil {
		return 0, err
	}
	s := &Store{dir: dir, now: now, log: log, root: root, lost: map[place]bool{}}
	if s.lock, err = takeLock(root, dir); err != nil {
		return 0, errors.Join(err, root.Close())
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := root.Lstat(FileName); !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s exists: move it away, or choose another directory with --state", s.path())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.replaceFile(func(db *bbolt.DB) error {
		return db.Update(func(tx *bbolt.Tx) error {
			records, err = importAll(tx, json.NewDecoder(bufio.NewReader(r)), check)
			return err
		})
	})
	if err != nil {
		// What the check of the finished file has refused must not be found by the next start.
		_ = s.drop(err)
		if gone := root.Remove(FileName); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		return 0, fmt.Errorf("import state: %w", err)
	}
	return records, nil
}

// importAll puts the lines of an export into their buckets. What is no whole export, or has a record whose checksum is
// wrong, is refused.
func importAll(tx *bbolt.Tx, in *json.Decoder, check func(Value) error) (records int, err error) {
	var head exportLine
	if err := in.Decode(&head); err != nil || head.Format != exportFormat {
		return 0, errors.New("this is no export of a state: make one with sm state export")
	}
	if head.Schema > schema {
		return 0, fmt.Errorf("the export has version %d and this sm knows %d: a newer sm made it; upgrade sm", head.Schema, schema)
	}
	for _, name := range buckets() {
		if _, err := tx.CreateBucket([]byte(name)); err != nil {
			return 0, err
		}
	}
	for {
		var line exportLine
		if err := in.Decode(&line); err != nil {
			return 0, fmt.Errorf("after record %d: %w; the export is cut off or damaged, make it anew", records, err)
		}
		if line.Records != nil {
			if *line.Records != records {
				return 0, fmt.Errorf("the export has %d records and says %d: make it anew", records, *line.Records)
			}
			return records, nil
		}
		records++
		b := tx.Bucket([]byte(line.Bucket))
		if b == nil {
			return 0, fmt.Errorf("record %d is of an unknown kind, %.20q: make the export anew", records, line.Bucket)
		}
		data, ok := unseal(line.Bucket, line.Key, line.Value)
		if !ok {
			return 0, fmt.Errorf("record %d is damaged: make the export anew", records)
		}
		if line.Bucket == valuesBucket {
			if err := check(Value{string(line.Key), data}); err != nil {
				return 0, fmt.Errorf("record %d, %q: %w; make the export anew", records, line.Key, err)
			}
		}
		if err := b.Put(line.Key, line.Value); err != nil {
			return 0, err
		}
	}
}
