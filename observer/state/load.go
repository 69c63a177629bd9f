package state

import (
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/bbolt"

	"sm/observer/fleet"
)

// The other buckets, and the records of meta.
const (
	metaBucket     = "meta"
	filesBucket    = "files"  // by the key of the path
	sessionsBucket = "seats"  // by the key of the session id
	valuesBucket   = "values" // by name

	schemaRecord   = "schema"
	makerRecord    = "maker" // the version of the sm that wrote the schema, for who cannot read it
	headRecord     = "head"
	countersRecord = "counters"
)

// schema is the version of the file as a whole. It rises when what is stored can no
// longer be read by growing records alone; the step from the one before then belongs
// into readHead.
const schema = 1

func buckets() []string {
	return []string{metaBucket, filesBucket, sessionsBucket, valuesBucket, ownersBucket,
		string(messageLedger), string(compactionLedger)}
}

// Value is a record of somebody else's, kept beside the fleet's.
type Value struct {
	Name string // not empty
	Data []byte // nil to remove it
}

// Load reads what was stored.
func (s *Store) Load() (fleet.Stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var stored fleet.Stored
	err := s.view(func(tx *bbolt.Tx) error {
		stored = s.readAll(tx)
		return nil
	})
	if d, ok := errors.AsType[*damage](err); ok {
		// The check at the start has missed something.
		stored = fleet.Stored{Created: s.now}
		err = s.startAnew(d)
	}
	if err != nil {
		return fleet.Stored{}, fmt.Errorf("load state: %w", err)
	}
	return stored, nil
}

func (s *Store) readAll(tx *bbolt.Tx) fleet.Stored {
	stored := fleet.Stored{Created: s.head.created, Settled: s.head.settled}
	words := map[string]string{}
	stored.Files = readRecords(tx, filesBucket, words, (*coder).file)
	stored.Records = readRecords(tx, sessionsBucket, words, (*coder).sessionRecord)
	stored.Claims = compactionLedger.all(tx, &s.owners)
	readRecord(tx, countersRecord, func(c *coder) { c.counters(&stored.Counters) })
	return stored
}

// readRecords reads a bucket of records of one type. Those that are damaged are left
// out.
func readRecords[T any](tx *bbolt.Tx, bucket string, words map[string]string, fields func(*coder, *T)) []T {
	n := 0
	cursor := tx.Bucket([]byte(bucket)).Cursor()
	for k, _ := cursor.First(); k != nil; k, _ = cursor.Next() {
		n++
	}
	out := make([]T, 0, n)
	c := coder{decode: true, words: words}
	for k, v := cursor.First(); k != nil; k, v = cursor.Next() {
		var zero T
		out = append(out, zero)
		if c.read(bucket, k, v) {
			fields(&c, &out[len(out)-1])
		}
		if c.bad {
			out = out[:len(out)-1]
		}
	}
	return out
}

// readRecord reads a record of meta; ok is false when it is absent or damaged.
func readRecord(tx *bbolt.Tx, name string, fields func(*coder)) (ok bool) {
	v := tx.Bucket([]byte(metaBucket)).Get([]byte(name))
	c := coder{decode: true}
	if c.read(metaBucket, []byte(name), v) {
		fields(&c)
	}
	return !c.bad
}

// readHead reads what the store itself must know, and refuses what is not ours to
// read.
func (s *Store) readHead(tx *bbolt.Tx) error {
	m := tx.Bucket([]byte(metaBucket))
	if m == nil {
		return damaged("bucket %s is missing", metaBucket)
	}
	version := 0
	if !readRecord(tx, schemaRecord, func(c *coder) { number(c, &version) }) || version < 1 {
		return damaged("record %s is missing or damaged", schemaRecord)
	}
	if version > schema {
		maker, by := "", ""
		if readRecord(tx, makerRecord, func(c *coder) { c.text(&maker) }) && strings.HasPrefix(maker, "v") { // a checkout has none
			by = ", sm " + maker
		}
		return fmt.Errorf("state file has version %d and this sm knows %d: it was made by a newer one%s; upgrade sm, or choose another directory with --state",
			version, schema, by)
	}
	for _, name := range buckets() {
		if tx.Bucket([]byte(name)) == nil {
			return damaged("bucket %s is missing", name)
		}
	}
	// Without it nobody knows whether what is stored is complete.
	if !readRecord(tx, headRecord, func(c *coder) { c.head(&s.head) }) {
		return damaged("record %s is missing or damaged", headRecord)
	}
	s.owners.read(tx)
	s.newest = tx.ID()
	return nil
}

// Values calls each for the values whose names have the prefix, by name, until it returns an error, which Values returns.
// The data is valid during the call; each must not use the store.
func (s *Store) Values(prefix string, each func(Value) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed error
	err := s.view(func(tx *bbolt.Tx) error {
		c := tx.Bucket([]byte(valuesBucket)).Cursor()
		for k, v := c.Seek([]byte(prefix)); k != nil && strings.HasPrefix(string(k), prefix) && failed == nil; k, v = c.Next() {
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
