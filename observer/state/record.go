package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/fxamacker/cbor/v2"
	"go.etcd.io/bbolt"

	"sm/handoff/files"
	"sm/transcript"
)

// schema is the version of the layout. [Store.records] reads older ones.
const schema = 2

// The buckets. Records are CBOR, claims owners of 8 bytes, and values are
// encoded by the caller.
const (
	metaBucket        = "meta"
	filesBucket       = "files"       // by the key of the path
	sessionsBucket    = "seats"       // by the key of the session id
	valuesBucket      = "values"      // by name
	messagesBucket    = "messages"    // by the key of the message
	compactionsBucket = "compactions" // by the key of the compaction

	schemaRecord   = "schema"
	makerRecord    = "maker" // of earlier files: the version of sm that made them
	headRecord     = "head"
	countersRecord = "counters"
)

// encoding is the encoding of records; times have nanoseconds.
var encoding, _ = cbor.EncOptions{Time: cbor.TimeRFC3339NanoUTC}.EncMode()

func bucketsOf(version int) []string {
	names := []string{
		metaBucket,
		filesBucket,
		sessionsBucket,
		valuesBucket,
		messagesBucket,
		compactionsBucket,
	}
	if version == 1 {
		return append([]string{ownersBucket}, names...)
	}
	return names
}

// head describes the file. It is written in every transaction.
type head struct {
	Created time.Time
	Settled bool
	Digest  digest
}

// digest sums up all records but the head. bbolt has no checksums: only the
// digest shows a record that is missing or outdated.
type digest struct{ Records, Sum uint64 }

func (d *digest) add(value []byte) {
	d.Records++
	d.Sum += uint64(checksum(value))
}

func (d *digest) remove(value []byte) {
	if value != nil {
		d.Records--
		d.Sum -= uint64(checksum(value))
	}
}

const (
	format  = 1 // the first byte of every record
	sumSize = 4
)

// seal adds the format and the checksum to a record. The checksum covers its
// bucket and key, too, so that a record under another key is invalid.
func seal(bucket string, key, data []byte) []byte {
	value := make([]byte, 0, 1+len(data)+sumSize)
	value = append(value, format)
	value = append(value, data...)
	return binary.LittleEndian.AppendUint32(value, sum(bucket, key, value))
}

// unseal returns the data of an undamaged record.
func unseal(bucket string, key, value []byte) (data []byte, ok bool) {
	n := len(value) - sumSize
	if n < 1 || value[0] != format || checksum(value) != sum(bucket, key, value[:n]) {
		return nil, false
	}
	return value[1:n], true
}

func checksum(value []byte) uint32 {
	return binary.LittleEndian.Uint32(value[max(0, len(value)-sumSize):])
}

func sum(bucket string, key, record []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	crc := crc32.Update(0, table, []byte(bucket))
	crc = crc32.Update(crc, table, key)
	return crc32.Update(crc, table, record)
}

// keyBytes encodes a key. The order of the bytes is that of the numbers.
func keyBytes(k transcript.Key) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(k))
}

// record returns a record, nil if it is missing or damaged.
func record(tx *bbolt.Tx, bucket string, key []byte) []byte {
	b := tx.Bucket([]byte(bucket))
	if b == nil {
		return nil
	}
	data, _ := unseal(bucket, key, b.Get(key))
	return data
}

// each calls f with the undamaged records of a bucket.
func each(tx *bbolt.Tx, bucket string, f func(key, data []byte) error) error {
	return tx.Bucket([]byte(bucket)).ForEach(func(k, v []byte) error {
		if data, ok := unseal(bucket, k, v); ok {
			return f(k, data)
		}
		return nil
	})
}

// readSchema reads the version of the layout. Its encoding never changes, so
// that every version of sm can refuse the file of a newer one.
func (s *Store) readSchema(tx *bbolt.Tx) error {
	version, _ := binary.Varint(record(tx, metaBucket, []byte(schemaRecord)))
	if version < 1 {
		return fmt.Errorf("%w: its schema is missing", files.ErrDamaged)
	}
	if version > schema {
		return fmt.Errorf("state file has version %d and this sm supports %d: it was made by a newer one; upgrade sm, or choose another directory with --state",
			version, schema)
	}
	s.schema = int(version)
	return nil
}

func (s *Store) readHead(tx *bbolt.Tx) error {
	data := record(tx, metaBucket, []byte(headRecord))
	if data != nil && s.schema == 1 {
		data, _ = encoding.Marshal(decodeOld(oldHead, data)) // never fails
	}
	if data == nil || cbor.Unmarshal(data, &s.head) != nil {
		return fmt.Errorf("%w: its head is missing", files.ErrDamaged)
	}
	return nil
}

// putFunc stores a record.
type putFunc func(bucket string, key, data []byte) error

// records calls put with all undamaged records, those of an old file converted.
// After an interrupted first start it only passes the head and the values:
// claims without their files would turn the files into copies.
func (s *Store) records(tx *bbolt.Tx, put putFunc) error {
	if s.schema == 1 {
		old := migration{
			put:    put,
			owners: map[uint64][]byte{},
		}
		put = old.record
	}
	for _, name := range bucketsOf(s.schema) {
		err := each(tx, name, func(k, data []byte) error {
			if s.head.Settled || name == valuesBucket || string(k) == headRecord {
				return put(name, k, data)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// A writer changes records, in transactions of limited size if there is a
// limit. After an error it does nothing.
type writer struct {
	db    *bbolt.DB
	tx    *bbolt.Tx
	id    int // of the last transaction
	head  head
	limit int // bytes in a transaction, 0 for one transaction
	size  int
	err   error
}

// run calls f in a transaction and commits it.
func (w *writer) run(f func(*writer) error) error {
	if w.tx, w.err = w.db.Begin(true); w.err != nil {
		return w.err
	}
	defer func() { _ = w.tx.Rollback() }()
	if err := f(w); err != nil {
		return err
	}
	return w.commit()
}

// commit stores the head and ends the transaction.
func (w *writer) commit() error {
	w.id = w.tx.ID()
	w.size = 0
	w.put(metaBucket, []byte(headRecord), &w.head)
	if w.err == nil {
		w.err = w.tx.Commit()
	}
	return w.err
}

// put stores v as CBOR.
func (w *writer) put(bucket string, key []byte, v any) {
	data, err := encoding.Marshal(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.putBytes(bucket, key, data)
}

func (w *writer) putBytes(bucket string, key, data []byte) {
	b, old := w.find(bucket, key)
	if w.err != nil {
		return
	}
	value := seal(bucket, key, data)
	if bucket != metaBucket || string(key) != headRecord {
		w.head.Digest.remove(old)
		w.head.Digest.add(value)
	}
	w.err = b.Put(key, value)

	w.size += len(value) + recordOverhead
	if w.limit > 0 && w.size > w.limit && w.commit() == nil {
		w.tx, w.err = w.db.Begin(true)
	}
}

// find returns the bucket and its present value for key.
func (w *writer) find(bucket string, key []byte) (*bbolt.Bucket, []byte) {
	if w.err != nil {
		return nil, nil
	}
	b := w.tx.Bucket([]byte(bucket))
	b.FillPercent = 0.8 // some room for records that grow
	return b, b.Get(key)
}

func (w *writer) delete(bucket string, key []byte) {
	b, old := w.find(bucket, key)
	if old != nil {
		w.head.Digest.remove(old)
		w.err = b.Delete(key)
	}
}

// copy copies a record from another file.
func (w *writer) copy(bucket string, key, data []byte) error {
	if bucket == metaBucket {
		switch string(key) {
		case schemaRecord, makerRecord:
			return w.err
		case headRecord:
			own := w.head.Digest
			err := cbor.Unmarshal(data, &w.head)
			w.head.Digest = own
			return err
		}
	}
	w.putBytes(bucket, bytes.Clone(key), data)
	return w.err
}
