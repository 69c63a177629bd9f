package fleet

import (
	"maps"
	"slices"

	"sm/transcript"
)

// changes is what has not been stored yet. What can change again while a Delta is
// being stored is on the list with the number of the Take that will hold it.
type changes struct {
	next              uint64 // the number of the next Take
	files, records    map[string]uint64
	agents            map[string]uint64
	counters, settled uint64  // 0: nothing to store
	claims, messages  []Claim // in the order in which they were made
	taken             struct{ claims, messages int }
}

func newChanges() changes {
	return changes{
		next:    1,
		files:   map[string]uint64{},
		records: map[string]uint64{},
		agents:  map[string]uint64{},
	}
}

func (c *changes) file(path string)  { c.files[path] = c.next }
func (c *changes) record(key string) { c.records[key] = c.next }
func (c *changes) agent(id string)   { c.agents[id] = c.next }
func (c *changes) count()            { c.counters = c.next }
func (c *changes) settle()           { c.settled = c.next }

func (c *changes) none() bool {
	return len(c.files)+len(c.records)+len(c.agents)+len(c.claims)+len(c.messages) == 0 && c.counters == 0 &&
		c.settled == 0
}

// Take returns the changes to store next, in one transaction; ok is false if there
// are none, and always before Settle. Until Stored is called for a Delta, the next
// Take returns its changes again, so that a failed transaction loses nothing. The
// caller may read the Delta.
func (f *Fleet) Take() (d Delta, ok bool) {
	c := &f.changed
	if !f.settled || c.none() {
		return Delta{}, false
	}
	d = Delta{
		Number:   c.next,
		Settled:  true,
		Claims:   slices.Clip(c.claims),
		Messages: slices.Clip(c.messages),
	}
	c.next++
	c.taken.claims, c.taken.messages = len(c.claims), len(c.messages)
	d.Files = slices.Grow(d.Files, len(c.files))
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		if x := f.files[path]; x != nil {
			d.Files = append(d.Files, x.File)
		} else {
			d.Gone = append(d.Gone, path)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.records)) {
		d.Records = append(d.Records, *f.recordOf(key))
	}
	for _, id := range slices.Sorted(maps.Keys(c.agents)) {
		if a := f.agents[id]; a != nil {
			d.Agents = append(d.Agents, a.Agent)
		} else {
			d.Left = append(d.Left, id)
		}
	}
	if c.counters != 0 {
		counters := f.counters.Clone()
		d.Counters = &counters
	}
	return d, true
}

// Stored marks the Delta of the newest Take as stored. An older Delta is ignored:
// the newest contains all of it.
func (f *Fleet) Stored(d Delta) {
	c := &f.changed
	if d.Number == 0 || d.Number+1 != c.next {
		return
	}
	done := func(_ string, number uint64) bool { return number <= d.Number }
	for _, m := range []*map[string]uint64{&c.files, &c.records, &c.agents} {
		if maps.DeleteFunc(*m, done); len(*m) == 0 {
			*m = map[string]uint64{} // a map keeps the memory of its largest time
		}
	}
	if done("", c.counters) {
		c.counters = 0
	}
	if done("", c.settled) {
		c.settled = 0
	}
	if f.options.Ledger != nil {
		for _, m := range c.messages[:c.taken.messages] {
			delete(f.messages, m.Key)
		}
		if len(f.messages) == 0 {
			f.messages = map[transcript.Key]transcript.Key{} // a map keeps the memory of its largest size
		}
	}
	c.claims, c.messages = rest(c.claims, c.taken.claims), rest(c.messages, c.taken.messages)
	c.taken.claims = 0
	c.taken.messages = 0
}

// rest is what follows the first n, without their memory.
func rest(claims []Claim, n int) []Claim {
	if n == len(claims) {
		return nil
	}
	return slices.Clone(claims[n:])
}
