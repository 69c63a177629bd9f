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
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// exportFormat is named in the first line.
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
	s.mu.Lock()
	defer s.mu.Unlock()

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

// ExportFile exports the state of a directory that is not in use into a file that
// does not exist yet, or to out if that is not nil.
func ExportFile(
	dir, file string,
	out io.Writer,
	log *slog.Logger,
	now time.Time,
) (records int, err error) {
	if _, err := os.Stat(filepath.Join(dir, FileName)); err != nil {
		return 0, fmt.Errorf(
			"%w: no observer has run there; name its directory with --state",
			err,
		)
	}
	s, err := OpenExisting(dir, log, now)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()

	if out != nil {
		records, err = s.Export(out)
	} else {
		records, err = s.exportTo(file)
	}
	if err != nil {
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

func (s *Store) exportTo(file string) (records int, err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, fmt.Errorf("%w: name a file that does not exist yet", err)
	}
	records, err = s.Export(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, errors.Join(err, os.Remove(file)) // for the next try
	}
	return records, nil
}

// Import makes the state of a directory from an export, completely or not at all,
// and returns the number of records. There must be no state yet. check returns why
// the observer could not read a value.
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

	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.root.Lstat(FileName); !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf(
			"%s exists: move it away, or choose another directory with --state",
			s.path(),
		)
	}
	err = s.replaceFile(func(put putFunc) error {
		records, err = s.importAll(json.NewDecoder(bufio.NewReader(r)), check, put)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("import state: %w", err)
	}
	return records, nil
}

// importAll refuses an incomplete export, and one with a damaged record.
func (s *Store) importAll(
	in *json.Decoder,
	check func(Value) error,
	put putFunc,
) (records int, err error) {
	var first exportLine
	if err := in.Decode(&first); err != nil || first.Format != exportFormat {
		return 0, errors.New("this is no export of a state: make one with sm state export")
	}
	if first.Schema > schema {
		return 0, fmt.Errorf(
			"the export has version %d and this sm knows %d: a newer sm made it; upgrade sm",
			first.Schema,
			schema,
		)
	}
	known := buckets()
	if first.Schema == 1 {
		known = append(known, ownersBucket)
		old := migration{encode: s.encode, put: put}
		put = old.record
	}
	for {
		var line exportLine
		if err := in.Decode(&line); err != nil {
			return 0, fmt.Errorf(
				"after record %d: %w; the export is cut off or damaged, make it anew",
				records,
				err,
			)
		}
		if line.Records != nil {
			if *line.Records != records {
				return 0, fmt.Errorf(
					"the export has %d records and says %d: make it anew",
					records,
					*line.Records,
				)
			}
			return records, nil
		}
		records++
		data, ok := unseal(line.Bucket, line.Key, line.Value)
		switch {
		case !slices.Contains(known, line.Bucket):
			return 0, fmt.Errorf(
				"record %d is of an unknown kind, %.20q: make the export anew",
				records,
				line.Bucket,
			)
		case !ok:
			return 0, fmt.Errorf("record %d is damaged: make the export anew", records)
		}
		if line.Bucket == valuesBucket {
			if err := check(Value{string(line.Key), data}); err != nil {
				return 0, fmt.Errorf(
					"record %d, %q: %w; make the export anew",
					records,
					line.Key,
					err,
				)
			}
		}
		if err := put(line.Bucket, line.Key, data); err != nil {
			return 0, err
		}
	}
}
