package state

import (
	"encoding/binary"

	"go.etcd.io/bbolt"

	"sm/transcript"
)

const ownersBucket = "owners"

// ownersBlock is how many owners stand in one record, 8 bytes each.
const ownersBlock = 64

// owners numbers the sessions that own claims, in the order of their first claim.
// Numbers are never used again.
type owners struct {
	keys    []transcript.Key // by number; 0 where the record was damaged
	numbers map[transcript.Key]uint32
	stored  int // so many of keys are on the disk
}

func (o *owners) number(k transcript.Key) uint32 {
	n, known := o.numbers[k]
	if !known {
		n = uint32(len(o.keys))
		o.keys = append(o.keys, k)
		o.numbers[k] = n
	}
	return n
}

func (o *owners) key(number uint32) (k transcript.Key, ok bool) {
	if int(number) >= len(o.keys) {
		return 0, false
	}
	k = o.keys[number]
	return k, k != 0
}

// read takes the place of what o held. The numbers of a damaged block stay taken:
// given to others they would make owners of strangers. Its key may be what is damaged,
// so what counts is that blocks are numbered without gaps and never removed.
func (o *owners) read(tx *bbolt.Tx) {
	*o = owners{numbers: map[transcript.Key]uint32{}}
	blocks := 0
	c := tx.Bucket([]byte(ownersBucket)).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		blocks++
		fields, ok := unseal(ownersBucket, k, v)
		if !ok || len(k) != 4 {
			continue
		}
		o.leave(int(binary.BigEndian.Uint32(k)))
		for ; len(fields) >= 8; fields = fields[8:] {
			key := transcript.Key(binary.LittleEndian.Uint64(fields))
			if key != 0 {
				o.numbers[key] = uint32(len(o.keys))
			}
			o.keys = append(o.keys, key)
		}
	}
	if blocks > (len(o.keys)+ownersBlock-1)/ownersBlock {
		o.leave(blocks)
	}
	o.stored = len(o.keys)
}

// leave gives all numbers below a block to nobody that have no owner.
func (o *owners) leave(block int) {
	for len(o.keys) < block*ownersBlock {
		o.keys = append(o.keys, 0)
	}
}

// write stores the blocks that have new owners.
func (o *owners) write(tx *bbolt.Tx) error {
	b := tx.Bucket([]byte(ownersBucket))
	for from := o.stored / ownersBlock * ownersBlock; from < len(o.keys); from += ownersBlock {
		value := []byte{format}
		for _, k := range o.keys[from:min(from+ownersBlock, len(o.keys))] {
			value = binary.LittleEndian.AppendUint64(value, uint64(k))
		}
		key := binary.BigEndian.AppendUint32(nil, uint32(from/ownersBlock))
		if err := b.Put(key, seal(ownersBucket, key, value)); err != nil {
			return err
		}
	}
	return nil
}
