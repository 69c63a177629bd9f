package backlog

import (
	"math/bits"

	"sm/transcript"
)

// Claim says whose a message or a compaction is.
type Claim struct{ Key, Owner transcript.Key }

// Owners maps messages to their owners. The zero value is empty.
//
// A message that appears once in the history is looked up once, before it is
// claimed, and these lookups are a large part of the time to read a history.
// Expect therefore takes all messages in advance, and claims are kept aside until
// the first lookup after it: a scan has none, and an observer rarely has one
// before its claims are stored.
type Owners struct {
	listed   map[transcript.Key]transcript.Key
	unlisted []Claim   // what belongs there too
	repeated *repeated // from Expect to Settle
}

// Expect takes all messages of a history, about n. Until Settle, only these are
// looked up.
func (o *Owners) Expect(history []*Backlog) (n int) {
	for _, b := range history {
		n += len(b.Messages)
	}
	o.repeated = newRepeated(n)
	for _, b := range history {
		for i := range b.Messages {
			o.repeated.add(b.Messages[i].id)
		}
		for i := range b.Later {
			for j := range b.Later[i].Messages {
				o.repeated.add(b.Later[i].Messages[j].ID)
			}
		}
	}
	return n
}

// Settle ends the history. The claims are those put since Expect; they are not written to.
func (o *Owners) Settle(claims []Claim) {
	o.repeated = nil
	o.unlisted = claims
}

// Of says whose a message is.
func (o *Owners) Of(id transcript.Key) (owner transcript.Key, ok bool) {
	if o.repeated != nil && !o.repeated.has(id) {
		return 0, false
	}
	o.list()
	owner, ok = o.listed[id]
	return owner, ok
}

// Put notes whose a message is.
func (o *Owners) Put(id, owner transcript.Key) {
	if o.repeated == nil || o.repeated.has(id) {
		o.list()
		o.listed[id] = owner
	}
}

// Forget lets go of claims, the oldest that there are.
func (o *Owners) Forget(claims []Claim) {
	if o.unlisted = o.unlisted[min(len(o.unlisted), len(claims)):]; len(o.unlisted) == 0 {
		o.unlisted = nil // an empty rest keeps the memory of all
	}
	for _, c := range claims {
		delete(o.listed, c.Key)
	}
	if len(o.listed) == 0 {
		o.listed = nil // a map keeps the memory of its largest time
	}
}

// Len is of how many messages it says whose they are.
func (o *Owners) Len() int {
	o.list()
	return len(o.listed)
}

func (o *Owners) list() {
	if o.listed == nil || len(o.unlisted) > 0 {
		o.listed = make(map[transcript.Key]transcript.Key, len(o.unlisted))
		for _, c := range o.unlisted {
			o.listed[c.Key] = c.Owner
		}
		o.unlisted = nil
	}
}

// repeated contains the keys that were added more than once, and few others, with
// two bits for each key.
type repeated struct {
	once, again []uint64 // a bit that keys share: whether one was added, and whether one was after it
	mask        transcript.Key
}

// newRepeated has room for n keys: with 16 to 32 bits for each, one of 25 or fewer shares its own.
func newRepeated(n int) *repeated {
	words := 1 << bits.Len(uint(n/4))
	return &repeated{make([]uint64, words), make([]uint64, words), transcript.Key(words - 1)}
}

func (r *repeated) add(id transcript.Key) {
	i := id >> 6 & r.mask
	bit := uint64(1) << (id & 63)
	r.again[i] |= r.once[i] & bit
	r.once[i] |= bit
}

func (r *repeated) has(id transcript.Key) bool { return r.again[id>>6&r.mask]>>(id&63)&1 != 0 }
