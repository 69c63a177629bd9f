package transcript

import (
	"cmp"
	"encoding/binary"
	"math/bits"
)

// Key is a 64-bit hash of an identifier (a record's uuid, a message's id, a
// summary's text); 0 means none. The hash is the same on every machine and in
// every run. Keys are stored: change the hash only together with the version of
// the state file.
type Key uint64

// Odd constants with evenly spread bits: the golden ratio and the square roots
// of 3 and 5, as 64-bit fractions.
const (
	mix0 = 0x9e3779b97f4a7c15
	mix1 = 0xbb67ae8584caa73b
	mix2 = 0x3c6ef372fe94f82b
)

// KeyOf hashes an identifier; the key of an empty one is 0.
func KeyOf(b []byte) Key {
	if len(b) == 0 {
		return 0
	}
	h := uint64(len(b)) ^ mix0
	for len(b) >= 8 {
		h = fold128(h^binary.LittleEndian.Uint64(b), mix1)
		b = b[8:]
	}
	var tail uint64
	for i, c := range b {
		tail |= uint64(c) << (8 * i)
	}
	h = fold128(h^tail, mix2)
	return Key(cmp.Or(fold128(h^mix0, mix1), mix0))
}

// Join returns one key for several; it depends on their order.
func Join(keys ...Key) Key {
	h := uint64(len(keys)) ^ mix2
	for _, k := range keys {
		h = fold128(h^uint64(k), mix1)
	}
	return Key(cmp.Or(fold128(h^mix0, mix2), mix0))
}

func fold128(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b|1)
	// A product with a zero half would lose all that was hashed before.
	return hi ^ lo ^ bits.RotateLeft64(a, 29)
}
