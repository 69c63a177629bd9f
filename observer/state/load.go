package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
	"go.etcd.io/bbolt"
	"golang.org/x/sync/errgroup"

	"sm/observer/fleet"
	"sm/transcript"
)

// schema is the version of the layout. [contents.records] reads older ones.
const schema = 2

// Value is a record of the caller's, stored beside the fleet's.
type Value struct {
	Name string // not empty
	Data []byte // nil to remove it
}

// Load reads what was stored.
func (s *Store) Load() (fleet.Stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	var stored fleet.Stored
	err := s.view(func(tx *bbolt.Tx) (err error) {
		stored, err = s.readAll(tx)
		return err
	})
	if d, ok := errors.AsType[*damage](err); ok && !s.readOnly {
		stored = fleet.Stored{Created: s.now}
		err = s.startAnew(d)
	}
	if err != nil {
		return fleet.Stored{}, fmt.Errorf("load state: %w", err)
	}
	return stored, nil
}

func (s *Store) readAll(tx *bbolt.Tx) (fleet.Stored, error) {
	stored := fleet.Stored{Created: s.head.Created, Settled: s.head.Settled}
	_, _, err := readRecord(tx, countersRecord, &stored.Counters)
	if err == nil {
		stored.Files, err = readRecords[fleet.File](tx, filesBucket)
	}
	if err == nil {
		stored.Records, err = readRecords[fleet.SessionRecord](tx, sessionsBucket)
	}
	if err != nil {
		return stored, err
	}

	err = tx.Bucket([]byte(compactionsBucket)).ForEach(func(k, v []byte) error {
		if data, ok := unseal(compactionsBucket, k, v); ok && len(data) == 8 {
			stored.Claims = append(stored.Claims, fleet.Claim{
				Key:   transcript.Key(binary.BigEndian.Uint64(k)),
				Owner: transcript.Key(binary.BigEndian.Uint64(data)),
			})
		}
		return nil
	})
	return stored, err
}

// readRecords reads the undamaged records of a bucket.
func readRecords[T any](tx *bbolt.Tx, bucket string) ([]T, error) {
	var encoded [][]byte
	err := tx.Bucket([]byte(bucket)).ForEach(func(k, v []byte) error {
		if data, ok := unseal(bucket, k, v); ok {
			encoded = append(encoded, data)
		}
		return nil
	})
	if err != nil || len(encoded) == 0 {
		return nil, err
	}

	all := make([]T, len(encoded))
	part := (len(all) + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
	var group errgroup.Group
	for from := 0; from < len(all); from += part {
		group.Go(func() error {
			return guard(func() error {
				return decode(
					encoded[from:min(from+part, len(all))],
					all[from:],
				)
			})
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("read a record of %s: %w", bucket, err)
	}
	return all, nil
}

func decode[T any](encoded [][]byte, to []T) error {
	for i, data := range encoded {
		if err := cbor.Unmarshal(data, &to[i]); err != nil {
			return err
		}
	}
	return nil
}

// readRecord reads a record of the meta bucket, unless it is missing or damaged.
func readRecord(tx *bbolt.Tx, name string, v any) (data []byte, ok bool, err error) {
	key := []byte(name)
	value := tx.Bucket([]byte(metaBucket)).Get(key)
	if data, ok = unseal(metaBucket, key, value); ok && v != nil {
		err = cbor.Unmarshal(data, v)
	}
	return data, ok, err
}

// putSchema stores the version of the layout and that of sm. Their encoding never
// changes, so that every version of sm can refuse the file of a newer one.
func (w *writer) putSchema() {
	maker := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		maker = info.Main.Version
	}
	w.putBytes(metaBucket, []byte(schemaRecord), binary.AppendVarint(nil, schema))
	w.putBytes(
		metaBucket,
		[]byte(makerRecord),
		append(binary.AppendVarint(nil, int64(len(maker))), maker...),
	)
}

func (s *Store) readSchema(tx *bbolt.Tx) error {
	data, _, _ := readRecord(tx, schemaRecord, nil)
	version, _ := binary.Varint(data)
	if version < 1 {
		return damaged("record %s is missing or damaged", schemaRecord)
	}
	if version > schema {
		by := ""
		maker, ok, _ := readRecord(tx, makerRecord, nil)
		if _, n := binary.Varint(maker); ok && n > 0 &&
			strings.HasPrefix(string(maker[n:]), "v") { // a checkout has none
			by = ", sm " + string(maker[n:])
		}
		return fmt.Errorf("state file has version %d and this sm knows %d: it was made by a newer one%s; upgrade sm, or choose another directory with --state",
			version, schema, by)
	}
	s.schema = int(version)
	return nil
}

func (s *Store) readHead(tx *bbolt.Tx) error {
	if s.schema == 1 {
		return s.readOldHead(tx)
	}
	_, ok, err := readRecord(tx, headRecord, &s.head)
	if !ok || err != nil {
		return damaged("record %s is missing or damaged", headRecord)
	}
	return nil
}

// adopt takes over the head of another file, or begins with one made now.
func (w *writer) adopt(data []byte, now time.Time) error {
	h := head{Created: now}
	if data != nil {
		if err := cbor.Unmarshal(data, &h); err != nil {
			return fmt.Errorf("read %s: %w", headRecord, err)
		}
	}
	w.head.Created = h.Created
	w.head.Settled = h.Settled
	return nil
}

// records passes all undamaged records on, those of an old file converted. Of an
// interrupted first start it passes on the head and the values alone: claims
// without the files that made them would turn the files into copies.
func (s *Store) records(tx *bbolt.Tx, put putFunc) error {
	names := buckets()
	if s.schema == 1 {
		old := migration{encode: s.encode, put: put}
		put = old.record
		names = append([]string{ownersBucket}, names...)
	}
	for _, name := range names {
		err := tx.Bucket([]byte(name)).ForEach(func(k, v []byte) error {
			data, ok := unseal(name, k, v)
			unsettled := !s.head.Settled && name != valuesBucket && string(k) != headRecord
			if !ok || unsettled {
				return nil
			}
			return put(name, k, data)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Values calls each with the values whose names have the prefix, in the order of
// the names, until it returns an error. The data is valid during the call; each
// must not use the store.
func (s *Store) Values(prefix string, each func(Value) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	var failed error
	err := s.view(func(tx *bbolt.Tx) error {
		c := tx.Bucket([]byte(valuesBucket)).Cursor()
		for k, v := c.Seek([]byte(prefix)); k != nil &&
			strings.HasPrefix(string(k), prefix) &&
			failed == nil; k, v = c.Next() {
			if data, ok := unseal(valuesBucket, k, v); ok {
				failed = each(Value{string(k), data})
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read state: %w", err)
	}
	return failed
}
