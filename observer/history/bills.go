package history

import (
	"cmp"

	"sm/transcript"
	"sm/transcript/bills"
)

// Bill is the bill of one boundary, with the session in which it happened
// first, and its model.
type Bill struct {
	transcript.Bill
	Agent, Model string
}

// Bills returns the bill of each boundary once, also if several transcripts
// share it: from the transcript that continues longest after it, the first of
// equals. The history must be settled, and Each not called yet.
func (h *History) Bills() (list []*Bill) {
	own := h.ownNames()
	known := map[transcript.Key]*Bill{}
	for _, p := range h.logs {
		for _, b := range p.change.Bills {
			key := b.Key
			agent := p.agent
			if b.Kind == transcript.BilledCompaction {
				if key = own[b.Key]; key == 0 {
					continue // a copy that the fleet does not report
				}
				agent = h.own[key].log.agent
				b.Before = cmp.Or(b.Before, h.own[key].size)
			} else {
				key = transcript.Join(key)
				if q := p.before; q != nil && b.Before == 0 {
					active, _, size := q.until(p.change.Session.Started)
					b = bills.Against(b, q.change.Worked, size, active)
				}
			}
			if agent == "" {
				continue
			}
			if x := known[key]; x == nil {
				known[key] = &Bill{b, agent, p.change.Session.Model}
				list = append(list, known[key])
			} else if b.Replies > x.Replies {
				x.Bill = b
			}
		}
	}
	return list
}

// ownNames maps all keys of each compaction, and of its copies, to the key of
// the original.
func (h *History) ownNames() map[transcript.Key]transcript.Key {
	names := map[transcript.Key]transcript.Key{}
	note := func(c *transcript.Compaction, name transcript.Key) {
		for _, k := range [...]transcript.Key{nameOf(c), c.Key, c.Own, c.Stamp} {
			if k != 0 && names[k] == 0 {
				names[k] = name
			}
		}
	}
	for p, c := range h.compactions {
		if h.own[nameOf(c)].log == p {
			note(c, nameOf(c))
		}
	}
	for _, c := range h.compactions {
		note(c, cmp.Or(names[nameOf(c)], names[c.Key], names[c.Own], names[c.Stamp]))
	}
	return names
}

// compactions yields all compactions with their transcripts.
func (h *History) compactions(yield func(*log, *transcript.Compaction) bool) {
	for _, p := range h.logs {
		for i := range p.change.Compactions {
			if !yield(p, &p.change.Compactions[i]) {
				return
			}
		}
	}
}
