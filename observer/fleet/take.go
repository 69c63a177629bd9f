package fleet

import (
	"maps"
	"slices"
	"strings"

	"sm/transcript"
)

// changes is what has not been stored yet. What can change again while a Delta is
// being stored has the number of the Take that will hold it.
type changes struct {
	next             uint64 // the number of the next Take
	items            map[item]uint64
	claims, messages []Claim // in the order in which they were made
	taken            struct{ claims, messages int }
}

// item is what is stored under a key: a file by its path, a record by its session,
// an agent by its id, or the counters.
type item struct {
	kind itemKind
	key  string
}

type itemKind uint8

const (
	fileItem itemKind = iota
	recordItem
	agentItem
	countersItem
)

func (c *changes) file(path string)  { c.items[item{fileItem, path}] = c.next }
func (c *changes) record(key string) { c.items[item{recordItem, key}] = c.next }
func (c *changes) agent(id string)   { c.items[item{agentItem, id}] = c.next }
func (c *changes) count()            { c.items[item{kind: countersItem}] = c.next }

// Take returns the changes to store next, in one transaction; ok is false if there
// are none, and always before Settle. Until Stored is called for a Delta, the next
// Take returns its changes again, so that a failed transaction loses nothing. The
// caller may read the Delta.
func (f *Fleet) Take() (d Delta, ok bool) {
	c := &f.changed
	if !f.settled || len(c.items)+len(c.claims)+len(c.messages) == 0 {
		return Delta{}, false
	}
	d = Delta{
		Number:   c.next,
		Settled:  true,
		Claims:   slices.Clip(c.claims),
		Messages: slices.Clip(c.messages),
	}
	c.next++
	c.taken.claims = len(c.claims)
	c.taken.messages = len(c.messages)
	order := slices.SortedFunc(maps.Keys(c.items), func(a, b item) int { return strings.Compare(a.key, b.key) })
	for _, i := range order {
		switch i.kind {
		case fileItem:
			if x := f.files[i.key]; x != nil {
				d.Files = append(d.Files, x.File)
			} else {
				d.Gone = append(d.Gone, i.key)
			}
		case recordItem:
			d.Records = append(d.Records, *f.recordOf(i.key))
		case agentItem:
			if a := f.agents[i.key]; a != nil {
				d.Agents = append(d.Agents, a.Agent)
			} else {
				d.Left = append(d.Left, i.key)
			}
		case countersItem:
			counters := f.counters.Clone()
			d.Counters = &counters
		}
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
	maps.DeleteFunc(c.items, func(_ item, number uint64) bool { return number <= d.Number })
	if len(c.items) == 0 {
		c.items = map[item]uint64{} // a map keeps the memory of its largest size
	}
	if f.options.Ledger != nil {
		for _, m := range c.messages[:c.taken.messages] {
			delete(f.messages, m.Key)
		}
		if len(f.messages) == 0 {
			f.messages = map[transcript.Key]transcript.Key{} // a map keeps the memory of its largest size
		}
	}
	c.claims = append([]Claim(nil), c.claims[c.taken.claims:]...) // not a part, which would keep the memory
	c.messages = append([]Claim(nil), c.messages[c.taken.messages:]...)
	c.taken.claims = 0
	c.taken.messages = 0
}
