package state

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"time"

	"sm/transcript"
)

// format is the first byte of every record. Fields are only ever appended to a
// record or group, which needs no new format: an old reader passes over what it does
// not know, a new one leaves what is not there at zero.
const format = 1

// coder writes a record's fields, or reads them: each type's fields are listed once,
// for both directions (see fields.go).
type coder struct {
	buf    []byte // what has been written, or what is still to be read
	decode bool
	bad    bool              // what was read is no such record
	words  map[string]string // what word has read
}

// read begins a stored record; ok is false when it is damaged.
func (c *coder) read(bucket string, key, value []byte) (ok bool) {
	c.buf, ok = unseal(bucket, key, value)
	c.bad = !ok
	return ok
}

// fail ends reading: the fields that follow stay zero.
func (c *coder) fail() { c.bad, c.buf = true, nil }

// absent says that a field is not there to be read: its record is older than it.
func (c *coder) absent() bool { return len(c.buf) == 0 }

// integer is what a field may count with.
type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// number is for any count: small ones take few bytes.
func number[T integer](c *coder, v *T) {
	if !c.decode {
		c.buf = binary.AppendVarint(c.buf, int64(*v))
		return
	}
	if c.absent() {
		return
	}
	n, size := binary.Varint(c.buf)
	if size <= 0 {
		c.fail()
		return
	}
	*v, c.buf = T(n), c.buf[size:]
}

// numbers reads as many of v as there are: an array may have grown since.
func numbers[T integer](c *coder, v []T) {
	n := len(v)
	number(c, &n)
	for i := range min(n, len(v)) {
		number(c, &v[i])
	}
	for i := len(v); i < n && !c.absent(); i++ {
		var beyond T
		number(c, &beyond)
	}
}

// list writes v, or returns what it reads.
func list[T any](c *coder, v []T, field func(*coder, *T)) []T {
	n := len(v)
	number(c, &n)
	if c.decode {
		v = nil
		if n > 0 && n <= len(c.buf) { // each takes a byte at least
			v = make([]T, n)
		}
	}
	for i := range v {
		field(c, &v[i])
	}
	return v
}

// fixed is for numbers that use most of their 64 bits: keys and times.
func fixed[T ~int64 | ~uint64](c *coder, v *T) {
	if !c.decode {
		c.buf = binary.LittleEndian.AppendUint64(c.buf, uint64(*v))
		return
	}
	if c.absent() {
		return
	}
	if len(c.buf) < 8 {
		c.fail()
		return
	}
	*v, c.buf = T(binary.LittleEndian.Uint64(c.buf)), c.buf[8:]
}

func (c *coder) real(v *float64) {
	bits := math.Float64bits(*v)
	fixed(c, &bits)
	if c.decode { // what is written down is read by others meanwhile
		*v = math.Float64frombits(bits)
	}
}

func (c *coder) flag(v *bool) {
	n := 0
	if *v {
		n = 1
	}
	number(c, &n)
	if c.decode {
		*v = n != 0
	}
}

// moment keeps a time to the nanosecond, in UTC; it can be any, also the zero one.
func (c *coder) moment(v *time.Time) {
	sec, nsec := v.Unix(), int64(v.Nanosecond())
	number(c, &sec)
	number(c, &nsec)
	if c.decode {
		*v = time.Unix(sec, nsec).UTC()
	}
}

// bytes writes its argument, or returns what it reads, to be copied.
func (c *coder) bytes(v string) []byte {
	n := len(v)
	number(c, &n)
	if !c.decode {
		c.buf = append(c.buf, v...)
		return nil
	}
	if n < 0 || n > len(c.buf) {
		c.fail()
		return nil
	}
	b := c.buf[:n]
	c.buf = c.buf[n:]
	return b
}

func (c *coder) text(v *string) {
	if b := c.bytes(*v); c.decode {
		*v = string(b)
	}
}

// word is a text that many records share: they are read into one string.
func (c *coder) word(v *string) {
	b := c.bytes(*v)
	if !c.decode {
		return
	}
	s, known := c.words[string(b)]
	if !known {
		s = string(b)
		if c.words != nil {
			c.words[s] = s
		}
	}
	*v = s
}

// textOf is a text that mostly stands at the beginning or the end of another one, or
// there before .jsonl: then both are read into one string.
func (c *coder) textOf(v *string, whole string) {
	b := c.bytes(*v)
	if !c.decode {
		return
	}
	for _, from := range [...]int{0, len(whole) - len(b), len(whole) - len(b) - len(".jsonl")} {
		if from >= 0 && from+len(b) <= len(whole) && whole[from:from+len(b)] == string(b) {
			*v = whole[from : from+len(b)]
			return
		}
	}
	*v = string(b)
}

// group brackets the fields of a type of its own, so that it can grow without moving
// what follows.
func (c *coder) group(fields func()) {
	if c.decode {
		b := c.bytes("")
		rest := c.buf
		c.buf = b
		fields()
		c.buf = rest
		return
	}
	start := len(c.buf)
	fields()
	var head [binary.MaxVarintLen64]byte
	n := binary.PutVarint(head[:], int64(len(c.buf)-start))
	c.buf = append(c.buf, head[:n]...)
	copy(c.buf[start+n:], c.buf[start:len(c.buf)-n])
	copy(c.buf[start:], head[:n])
}

// sum is the checksum of a record: of its place too, so that a record that turns up
// under another key is not taken for that key's.
func sum(bucket string, key, record []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Update(crc32.Update(0, table, []byte(bucket)), table, key), table, record)
}

const sumSize = 4

// seal appends the checksum.
func seal(bucket string, key, record []byte) []byte {
	return binary.LittleEndian.AppendUint32(record, sum(bucket, key, record))
}

// unseal checks and removes checksum and format.
func unseal(bucket string, key, value []byte) (fields []byte, ok bool) {
	n := len(value) - sumSize
	if n < 1 || value[0] != format || binary.LittleEndian.Uint32(value[n:]) != sum(bucket, key, value[:n]) {
		return nil, false
	}
	return value[1:n], true
}

// keyBytes has the order of the numbers.
func keyBytes[T ~uint64](k T) []byte { return binary.BigEndian.AppendUint64(nil, uint64(k)) }

func keyOf(s string) []byte { return keyBytes(transcript.KeyOf([]byte(s))) }
