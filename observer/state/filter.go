package state

import (
	"encoding/binary"
	"math"
	"math/bits"

	"go.etcd.io/bbolt"
)

// known are the messages of the ledger in the file that are below surveyed, and all that have been claimed since it was opened.
type known struct {
	filter
	surveyed uint64
}

// lacks says that nobody has claimed a message.
func (x *known) lacks(message uint64) bool { return message < x.surveyed && !x.has(message) }

// filter says of most messages that nobody has claimed them, without a look at the file: a line of a live transcript brings a
// new message, and to look for it takes microseconds. What was added is known; of the rest one in twenty is taken for known
// too, and up to one in five where it has grown. It takes about a byte for a message.
type filter []filterPart

// filterPart has room for eight messages a word; where one is full, a larger one follows it.
type filterPart struct {
	words []uint64
	room  int // for so many messages more
}

const filterFill = 8 // messages a word

// grow makes room for n messages more.
func (f *filter) grow(n int) {
	words := 1 << 10
	if last := len(*f) - 1; last >= 0 {
		if (*f)[last].room >= n {
			return
		}
		words = 4 * len((*f)[last].words)
	}
	words = max(words, n/filterFill+1)
	*f = append(*f, filterPart{make([]uint64, words), words * filterFill})
}

// add adds a message that is being claimed.
func (f *filter) add(message uint64) {
	f.grow(1)
	last := &(*f)[len(*f)-1]
	last.room--
	i, mask := last.place(message)
	last.words[i] |= mask
}

// has says whether a message may be claimed.
func (f filter) has(message uint64) bool {
	for i := range f {
		if at, mask := f[i].place(message); f[i].words[at]&mask == mask {
			return true
		}
	}
	return false
}

// place is a word for a message, and four bits in it.
func (p *filterPart) place(message uint64) (word uint64, mask uint64) {
	const spread = 0x9e3779b97f4a7c15
	h := (message ^ message>>32) * spread
	word, _ = bits.Mul64(h, uint64(len(p.words)))
	h = (h ^ h>>29) * spread
	for range 4 {
		h = bits.RotateLeft64(h, 6)
		mask |= 1 << (h & 63)
	}
	return word, mask
}

// claim takes note of messages that are claimed in the file, or are about to be.
func (x *known) claim(messages []claim) {
	x.grow(len(messages))
	for _, m := range messages {
		x.add(m.key)
	}
}

// surveyChunks is how many chunks are surveyed at a time: their claims take as long as the question that leads to it.
const surveyChunks = 8

// survey takes note of the next messages that are claimed in the file. At the start all of them would take too long.
func (x *known) survey(tx *bbolt.Tx) {
	if x.surveyed == math.MaxUint64 {
		return
	}
	var room [chunkMax]claim
	c := tx.Bucket([]byte(messageLedger)).Cursor()
	k, v := c.Seek(keyBytes(x.surveyed)) // it may have been split since: what is new in it is known by claim
	for n := 0; k != nil && n < surveyChunks; n++ {
		x.claim(messageLedger.decode(room[:0], chunk{key: k, value: v}))
		k, v = c.Next()
	}
	if x.surveyed = math.MaxUint64; k != nil {
		x.surveyed = binary.BigEndian.Uint64(k)
	}
}
