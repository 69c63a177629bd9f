package history

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"sm/transcript"
)

// none is the index of an unknown transcript.
const none = -1

// shared has the records that are in several transcripts: copies and originals.
type shared struct {
	often bloomFilter // a record whose bit is not set is in one transcript
	index map[transcript.Key]int32
	list  []common
}

// common is what is known of one such record.
type common struct {
	at     transcript.Instant // the oldest of its times: a resume may have written it anew
	owner  int32              // the log in which it happened first
	holder int32              // the last log that was found to have it
	files  int32              // how many have it
	ends   int32              // of how many it is the newest reading
	ender  int32              // the first of those
	copied bool               // its owner names another record as its origin
}

// bloomFilter is a Bloom filter with one hash: a key that was added is always found, and few others are.
type bloomFilter struct {
	words []uint64
	shift int
}

func newBloomFilter(keys int) bloomFilter {
	n := max(10, bits.Len(uint(16*keys)))
	return bloomFilter{make([]uint64, 1<<n/64), 64 - n}
}

func (b *bloomFilter) has(k transcript.Key) bool {
	return b.words[k>>b.shift/64]&(1<<(k>>b.shift%64)) != 0
}
func (b *bloomFilter) add(k transcript.Key) { b.words[k>>b.shift/64] |= 1 << (k >> b.shift % 64) }

// of is what is known of a shared record, nil for one that is not.
func (s *shared) of(k transcript.Key) *common {
	if k == 0 || !s.often.has(k) {
		return nil
	}
	i, ok := s.index[k]
	if !ok || s.list[i].files < 2 {
		return nil
	}
	return &s.list[i]
}

// bearsKey reports whether copies of a record have its key. Copies of compactions
// are recognized in other ways.
func (r *record) bearsKey() bool {
	return r.key != 0 &&
		(r.kind == transcript.KindReading || r.kind == transcript.KindTurnStart ||
			r.kind == transcript.KindTurnEnd)
}

// trace finds the first origins of prompts that were copied from copies: each names only the one before. Two transcripts
// can name different origins for the same record. Then the smaller key counts, so that the order in which the files were
// read decides nothing. A record that names itself has no other origin.
func (h *History) trace() {
	origin := map[transcript.Key]transcript.Key{}
	for _, p := range h.logs {
		for key, named := range p.origin {
			if known, ok := origin[key]; named != key && (!ok || named < known) {
				origin[key] = named
			}
		}
		p.origin = nil
	}
	for _, p := range h.logs {
		for i := range p.records {
			r := &p.records[i]
			if !r.copied ||
				r.kind != transcript.KindTurnStart && r.kind != transcript.KindTurnEnd {
				continue
			}
			for range 64 { // a circle has no end
				before, ok := origin[r.key]
				if !ok || before == r.key {
					break
				}
				r.key = before
			}
		}
	}
}

// share finds the shared records.
func (h *History) share() {
	h.trace()
	count := 0
	for _, p := range h.logs {
		count += len(p.records)
	}
	once := newBloomFilter(count)
	often := newBloomFilter(count)
	for _, p := range h.logs {
		for i := range p.records {
			if r := &p.records[i]; !r.bearsKey() {
				continue
			} else if once.has(r.key) {
				often.add(r.key)
			} else {
				once.add(r.key)
			}
		}
	}
	h.shared = shared{often: often, index: map[transcript.Key]int32{}}
	s := &h.shared
	for i, p := range h.logs {
		for j := range p.records {
			r := &p.records[j]
			if !r.bearsKey() || !often.has(r.key) {
				continue
			}
			at, known := s.index[r.key]
			if !known {
				at = int32(len(s.list))
				s.index[r.key] = at
				s.list = append(s.list, common{owner: none, holder: none, ender: none})
			}
			c := &s.list[at]
			if c.holder != int32(i) {
				c.holder = int32(i)
				c.files++
			}
			if c.at == 0 || r.at != 0 && r.at < c.at {
				c.at = r.at
			}
		}
	}
}

// restoreOrder gives copied records their original times, and sorts the records of
// a fork that has written its new ones before the copies. Other disorder within a
// transcript is kept. Copies are adjacent: a single record may have the key of
// another by chance.
func (h *History) restoreOrder(p *log) {
	timed := true
	late := false
	row := true
	for i := range p.records {
		r := &p.records[i]
		if r.bearsKey() {
			c := h.shared.of(r.key)
			switch {
			case c != nil && row:
				r.at = cmp.Or(c.at, r.at)
			case c == nil && (p.alone == 0 || r.at != 0 && r.at < p.alone):
				p.alone = r.at
			}
			row = c != nil
		}
		timed = timed && r.at != 0
		late = late || r.at < p.records[0].at
	}
	if timed && late {
		slices.SortStableFunc(
			p.records,
			func(a, b record) int { return cmp.Compare(a.at, b.at) },
		)
	}
	newest := transcript.Instant(0)
	for i := range p.records {
		if r := &p.records[i]; r.kind == transcript.KindReading &&
			(r.at == 0 || r.at >= newest) {
			newest = max(newest, r.at)
			p.last = r.key
		}
	}
}

// earlier puts origins before copies and the older before the younger; those without any time come last. Of two that
// begin alike, as snapshots and resumes of one session do, the one comes first that was the first to have something of
// its own, or never had.
func (p *log) earlier(q *log) int {
	a := &p.change
	b := &q.change
	number := map[bool]int{true: 1}
	return cmp.Or(number[p.copied]-number[q.copied], cmp.Compare(
		uint64(a.Session.Started)-1,
		uint64(b.Session.Started)-1,
	),
		cmp.Compare(p.alone, q.alone), cmp.Compare(a.Session.Active, b.Session.Active),
		strings.Compare(a.Name, b.Name), strings.Compare(a.Cursor.Path, b.Cursor.Path))
}

// owners says of each shared record in which transcript it happened first: never in one that names its origin while that
// is there as well. And it finds the transcripts whose newest reading it is.
func (h *History) owners() {
	for i, p := range h.logs {
		for j := range p.records {
			r := &p.records[j]
			if !r.bearsKey() {
				continue
			}
			if c := h.shared.of(r.key); c != nil &&
				(c.owner == none || c.copied && !r.copied) {
				c.owner = int32(i)
				c.copied = r.copied
			}
		}
		if c := h.shared.of(p.last); c != nil {
			if c.ends++; c.ender == none {
				c.ender = int32(i)
			}
		}
	}
	for i, p := range h.logs {
		if c := h.shared.of(p.last); c != nil && (c.ends < c.files || c.ender != int32(i)) {
			p.passed = true
		}
	}
}

// disjointSets are sets of numbers, each identified by its least number: the union-find
// structure. At first each number is a set of its own.
type disjointSets []int

// find is the least number of the set that i is in.
func (s disjointSets) find(i int) int {
	for s[i] != i {
		s[i] = s[s[i]]
		i = s[i]
	}
	return i
}

// join makes the sets of i and j one.
func (s disjointSets) join(i, j int) {
	if i, j = s.find(i), s.find(j); i != j {
		s[max(i, j)] = min(i, j)
	}
}

// groupCopies numbers the groups of logs that have something in common: a record, a compaction, a session, or that one goes
// on from the other.
func (h *History) groupCopies() {
	sets := make(disjointSets, len(h.logs))
	for i := range sets {
		sets[i] = i
	}
	named := map[transcript.Key]int{}
	name := func(k transcript.Key, i int) {
		if first, ok := named[k]; ok && k != 0 {
			sets.join(i, first)
		} else {
			named[k] = i
		}
	}
	for i, p := range h.logs {
		name(transcript.KeyOf([]byte(p.change.Name)), i)
		name(transcript.KeyOf([]byte(p.change.Session.ID)), i)
		for j := range p.change.Compactions {
			c := &p.change.Compactions[j]
			name(c.Key, i)
			name(c.Own, i)
			name(c.Stamp, i)
		}
		for j := range p.records {
			if r := &p.records[j]; r.bearsKey() {
				if c := h.shared.of(r.key); c != nil {
					sets.join(i, int(c.owner))
				}
			}
		}
	}
	for i, before := range h.predecessors() {
		h.logs[before].passed = true
		sets.join(i, before)
	}
	numbers := map[int]int{}
	for i, p := range h.logs {
		r := sets.find(i)
		if _, ok := numbers[r]; !ok {
			numbers[r] = len(numbers)
		}
		p.group = numbers[r]
	}
	h.Groups = len(numbers)
}
