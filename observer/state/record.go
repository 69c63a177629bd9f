package state

import (
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/fxamacker/cbor/v2"
	"go.etcd.io/bbolt"

	"sm/transcript"
)

// The buckets. Records are CBOR; claims are owners of 8 bytes, values what the
// caller made of them.
const (
	metaBucket        = "meta"
	filesBucket       = "files"       // by the key of the path
	sessionsBucket    = "seats"       // by the key of the session id
	valuesBucket      = "values"      // by name
	messagesBucket    = "messages"    // by the key of the message
	compactionsBucket = "compactions" // by the key of the compaction

	schemaRecord   = "schema"
	makerRecord    = "maker" // the version of sm that made the file
	headRecord     = "head"
	countersRecord = "counters"
)

func buckets() []string {
	return []string{
		metaBucket,
		filesBucket,
		sessionsBucket,
		valuesBucket,
		messagesBucket,
		compactionsBucket,
	}
}

// head describes the file. It is written in every transaction.
type head struct {
	Created time.Time
	Settled bool
	Digest  digest
}

// digest sums up all records but the head. bbolt has no checksums: a record that
// is lost, or found in an old version, shows in the digest alone.
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

// seal frames a record. Its checksum covers its place too, so that a record under
// another key is not taken for that key's.
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
	crc := ^uint32(0)
	for i := range len(bucket) { // crc32.Update would need a copy of the name
		crc = table[byte(crc)^bucket[i]] ^ crc>>8
	}
	crc = crc32.Update(^crc, table, key)
	return crc32.Update(crc, table, record)
}

// keyBytes has the order of the numbers.
func keyBytes(k transcript.Key) []byte {
	return binary.BigEndian.AppendUint64(
		nil,
		uint64(k),
	)
}

// A writer changes records in a transaction. After an error it does nothing.
type writer struct {
	tx     *bbolt.Tx
	encode cbor.EncMode
	head   head
	err    error

	last     *bbolt.Bucket // the bucket used last, whose lookup takes time
	lastName string
}

func (w *writer) bucket(name string) *bbolt.Bucket {
	if w.last == nil || w.lastName != name || w.last.Tx() != w.tx {
		w.last = w.tx.Bucket([]byte(name))
		w.last.FillPercent = 0.8 // some room for records that grow
		w.lastName = name
	}
	return w.last
}

// put stores v as CBOR.
func (w *writer) put(bucket string, key []byte, v any) {
	data, err := w.encode.Marshal(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.putBytes(bucket, key, data)
}

func (w *writer) putBytes(bucket string, key, data []byte) {
	if w.err != nil {
		return
	}
	b := w.bucket(bucket)
	old := b.Get(key)
	value := seal(bucket, key, data)
	if bucket != metaBucket || string(key) != headRecord {
		w.head.Digest.remove(old)
		w.head.Digest.add(value)
	}
	w.err = b.Put(key, value)
}

func (w *writer) delete(bucket string, key []byte) {
	if w.err != nil {
		return
	}
	b := w.bucket(bucket)
	w.head.Digest.remove(b.Get(key))
	w.err = b.Delete(key)
}

// commit stores the head and ends the transaction.
func (w *writer) commit() error {
	w.put(metaBucket, []byte(headRecord), &w.head)
	if w.err != nil {
		return w.err
	}
	return w.tx.Commit()
}
