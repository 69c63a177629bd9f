package state

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"go.etcd.io/bbolt"

	"sm/observer/fleet"
	"sm/transcript"
)

// ledger is a bucket of claims. They are packed in chunks: a chunk's key is the
// lowest claim key that may stand in it, and it holds all claims up to the next
// chunk's key, in order, each as its distance from the one before and the number of
// its owner. That takes 9 bytes a claim where bbolt needs 34 for a pair of keys, and
// makes a bulk of claims a tenth of the work.
type ledger string

// The ledgers.
const (
	messageLedger    ledger = "messages"
	compactionLedger ledger = "compactions"
)

const (
	// A chunk with more claims than this is split. Large chunks are compact; small
	// ones are quick to search and to rewrite, and let bbolt fill its pages.
	chunkMax = 64
	// What a split leaves in each part, so that the next claim does not split again.
	chunkFill = 48
	// bulk is how many claims go into one transaction, to bound what it keeps in
	// memory.
	bulk = 1 << 16
)

// claim is a claim ready to be stored.
type claim struct {
	key   uint64
	owner uint32 // its number in owners
	order uint32 // among the claims that came with it: of two of a key the last holds
}

// prepare sorts those claims whose keys have the given leading bits, and numbers
// their owners.
func prepare(claims []fleet.Claim, part uint64, bits int, o *owners) []claim {
	expected := len(claims) >> bits
	out := make([]claim, 0, expected+expected/8)
	for i, c := range claims {
		if c.Key != 0 && c.Owner != 0 && uint64(c.Key)>>(64-bits) == part {
			out = append(out, claim{uint64(c.Key), o.number(c.Owner), uint32(i)})
		}
	}
	return inOrder(out)
}

// inOrder sorts by key and leaves of each key the last.
func inOrder(claims []claim) []claim {
	slices.SortFunc(claims, func(a, b claim) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(b.order, a.order))
	})
	return slices.CompactFunc(claims, func(a, b claim) bool { return a.key == b.key })
}

// put stores claims that are in order.
func (l ledger) put(tx *bbolt.Tx, claims []claim) error {
	b := tx.Bucket([]byte(l))
	b.FillPercent = 0.9
	var merged []claim
	for c := b.Cursor(); len(claims) > 0; {
		at := locate(c, claims[0].key)
		n := len(claims)
		if at.next != nil {
			next := binary.BigEndian.Uint64(at.next)
			n, _ = slices.BinarySearchFunc(claims, next, func(c claim, k uint64) int { return cmp.Compare(c.key, k) })
		}
		merged = merge(l.decode(merged[:0], at), claims[:n])
		if err := l.write(b, at.key, merged); err != nil {
			return err
		}
		claims = claims[n:]
	}
	return nil
}

// chunk is a stored chunk, with the key of the one after it; nil for none.
type chunk struct {
	key, value, next []byte
}

// locate finds the chunk that a claim's key belongs to. The first chunk's key is 0,
// so there always is one, except in an empty ledger.
func locate(c *bbolt.Cursor, claim uint64) chunk {
	key := keyBytes(claim)
	k, v := c.Seek(key)
	switch {
	case k == nil:
		k, v = c.Last()
		if k == nil {
			return chunk{key: keyBytes(uint64(0))}
		}
		return chunk{key: k, value: v}
	case bytes.Equal(k, key):
		next, _ := c.Next()
		return chunk{k, v, next}
	}
	next := k
	if k, v = c.Prev(); k == nil {
		k = keyBytes(uint64(0))
	}
	return chunk{k, v, next}
}

// merge appends the new claims to the old ones; both are in order.
func merge(old, fresh []claim) []claim {
	n := len(old)
	if n == 0 || old[n-1].key < fresh[0].key {
		return append(old, fresh...)
	}
	out := slices.Grow(old, len(fresh))[:n+len(fresh)]
	// From the back, so that nothing is overwritten before it is moved.
	i, j, to := n-1, len(fresh)-1, len(out)-1
	for ; j >= 0; to-- {
		switch {
		case i >= 0 && out[i].key > fresh[j].key:
			out[to] = out[i]
			i--
		default:
			if i >= 0 && out[i].key == fresh[j].key {
				i-- // claimed anew
			}
			out[to] = fresh[j]
			j--
		}
	}
	// Keys that were in both leave a gap.
	return append(out[:i+1], out[to+1:]...)
}

// write stores claims as one chunk or more. The first has the key of the chunk that
// it replaces, for no key must lose its chunk.
func (l ledger) write(b *bbolt.Bucket, first []byte, claims []claim) error {
	parts := 1
	if len(claims) > chunkMax {
		parts = (len(claims) + chunkFill - 1) / chunkFill
	}
	key := slices.Clone(first)
	for i := range parts {
		part := claims[i*len(claims)/parts : (i+1)*len(claims)/parts]
		if i > 0 {
			key = keyBytes(part[0].key)
		}
		if err := b.Put(key, l.encode(key, part)); err != nil {
			return err
		}
	}
	return nil
}

func (l ledger) encode(key []byte, claims []claim) []byte {
	value := make([]byte, 0, 1+11*len(claims)+sumSize)
	value = append(value, format)
	last := binary.BigEndian.Uint64(key)
	for _, c := range claims {
		value = binary.AppendUvarint(value, c.key-last)
		value = binary.AppendUvarint(value, uint64(c.owner))
		last = c.key
	}
	return seal(string(l), key, value)
}

// decode appends a chunk's claims. A damaged one has none.
func (l ledger) decode(to []claim, at chunk) []claim {
	fields, ok := unseal(string(l), at.key, at.value)
	if !ok {
		return to
	}
	for key := binary.BigEndian.Uint64(at.key); len(fields) > 0; {
		distance, n := binary.Uvarint(fields)
		owner, m := binary.Uvarint(fields[max(n, 0):])
		if n <= 0 || m <= 0 {
			break
		}
		key += distance
		to, fields = append(to, claim{key: key, owner: uint32(owner)}), fields[n+m:]
	}
	return to
}

// find looks a claim up.
func (l ledger) find(tx *bbolt.Tx, key transcript.Key) (owner uint32, ok bool) {
	at := locate(tx.Bucket([]byte(l)).Cursor(), uint64(key))
	var room [chunkMax]claim
	claims := l.decode(room[:0], at)
	i, ok := slices.BinarySearchFunc(claims, uint64(key), func(c claim, k uint64) int { return cmp.Compare(c.key, k) })
	if !ok {
		return 0, false
	}
	return claims[i].owner, true
}

// all reads the whole ledger. Claims whose owner was lost are left out.
func (l ledger) all(tx *bbolt.Tx, o *owners) []fleet.Claim {
	var out []fleet.Claim
	var claims []claim
	c := tx.Bucket([]byte(l)).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		claims = l.decode(claims[:0], chunk{key: k, value: v})
		for _, c := range claims {
			if owner, ok := o.key(c.owner); ok {
				out = append(out, fleet.Claim{Key: transcript.Key(c.key), Owner: owner})
			}
		}
	}
	return out
}
