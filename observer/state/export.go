package state

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// exportFormat is the format in the first line.
const exportFormat = "sm-state"

// An exportLine is the head of an export, a record, or the end.
type exportLine struct {
	Format string `json:"format,omitempty"` // only in the head
	Schema int    `json:"schema,omitempty"`

	Bucket string `json:"bucket,omitempty"` // only in a record
	Key    []byte `json:"key,omitempty"`
	Value  []byte `json:"value,omitempty"` // with its checksum

	Records *int `json:"records,omitempty"` // only at the end: their number
}

// Export writes the undamaged records as JSON lines, and returns their number.
func (s *Store) Export(w io.Writer) (records int, err error) {
	b := bufio.NewWriter(w)
	out := json.NewEncoder(b)
	err = s.view(func(tx *bbolt.Tx) error {
		if err := out.Encode(exportLine{Format: exportFormat, Schema: schema}); err != nil {
			return err
		}
		err := s.records(tx, func(bucket string, key, data []byte) error {
			records++
			return out.Encode(exportLine{
				Bucket: bucket,
				Key:    key,
				Value:  seal(bucket, key, data),
			})
		})
		if err != nil {
			return err
		}
		return out.Encode(exportLine{Records: &records})
	})
	if err = errors.Join(err, b.Flush()); err != nil {
		return 0, fmt.Errorf("export state: %w", err)
	}
	return records, nil
}

// ExportFile exports the state of a directory that is not in use to a new file,
// or to out if that is not nil. It does not change the state: a missing or
// damaged one is an error.
func ExportFile(
	dir, file string,
	out io.Writer,
	log *slog.Logger,
	now time.Time,
) (records int, err error) {
	if _, err := os.Stat(filepath.Join(dir, FileName)); err != nil {
		return 0, fmt.Errorf("%w: no observer has run there; name its directory with --state", err)
	}
	s, err := openLocked(dir, log, now)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()

	if out == nil {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return 0, fmt.Errorf("%w: name a file that does not exist yet", err)
		}
		defer func() {
			if failed := f.Close(); records == 0 {
				err = errors.Join(err, failed, os.Remove(file)) // so that a retry can create it
			}
		}()
		out = f
	}
	if records, err = s.Export(out); err != nil {
		return 0, err
	}
	if n := s.Dropped(); n > 0 {
		return records, fmt.Errorf(
			"%d damaged records are left out; the other %d are exported",
			n,
			records,
		)
	}
	return records, nil
}

// Import creates the state of a directory from an export, completely or not at
// all, and returns the number of records. There must be no state yet. check
// returns why the observer could not read a value.
func Import(
	dir string,
	r io.Reader,
	check func(Value) error,
	log *slog.Logger,
	now time.Time,
) (records int, err error) {
	s, err := openLocked(dir, log, now)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()

	if _, err := s.root.Lstat(FileName); err == nil {
		return 0, fmt.Errorf(
			"%s exists: move it away, or choose another directory with --state",
			s.path(),
		)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.replaceFile(func(w *writer) error {
		records, err = importAll(json.NewDecoder(bufio.NewReader(r)), check, w)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("import state: %w; make the export anew", err)
	}
	return records, nil
}

// importAll reads an export. An incomplete or damaged one is an error.
func importAll(in *json.Decoder, check func(Value) error, w *writer) (records int, err error) {
	var first exportLine
	if err := in.Decode(&first); err != nil || first.Format != exportFormat {
		return 0, errors.New("this is no export of a state: make one with sm state export")
	}
	if first.Schema != schema {
		return 0, fmt.Errorf(
			"the export has version %d and this sm reads %d: use the sm that made it",
			first.Schema,
			schema,
		)
	}
	for ; ; records++ {
		var line exportLine
		if err := in.Decode(&line); err != nil {
			return 0, fmt.Errorf(
				"after record %d: %w; the export is cut off or damaged",
				records,
				err,
			)
		}
		if line.Records != nil {
			if *line.Records != records || w.head.Created.IsZero() {
				return 0, fmt.Errorf("%d of %d records are left", records, *line.Records)
			}
			return records, nil
		}

		data, ok := unseal(line.Bucket, line.Key, line.Value)
		err := error(nil)
		switch {
		case !slices.Contains(bucketsOf(schema), line.Bucket):
			err = fmt.Errorf("it is of an unknown kind, %.20q", line.Bucket)
		case !ok:
			err = errors.New("it is damaged")
		case line.Bucket == valuesBucket:
			err = check(Value{string(line.Key), data})
		}
		if err == nil {
			err = w.copy(line.Bucket, line.Key, data)
		}
		if err != nil {
			return 0, fmt.Errorf("record %d, %q: %w", records+1, line.Key, err)
		}
	}
}
