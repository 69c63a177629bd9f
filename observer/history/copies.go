package history

import (
	"cmp"
	"slices"
	"strings"

	"sm/transcript"
)

// common is a record that is in several transcripts, as original or copy.
type common struct {
	at     transcript.Instant // the oldest of its times, as a resume may write it again with a new one
	owner  *log               // the transcript in which it happened first
	copied bool               // in the owner it refers to another original
	logs   int                // number of transcripts that have it
	last   *log               // the last transcript that was counted
	ends   int                // number of transcripts with it as the newest reading
	ender  *log               // the first of these transcripts
}

// bearsKey reports whether copies of a record have the same key. Copies of
// compactions are recognized by the fleet.
func (r *record) bearsKey() bool {
	return r.key != 0 &&
		(r.kind == transcript.KindReading || r.kind == transcript.KindTurnStart ||
			r.kind == transcript.KindTurnEnd)
}

// trace finds the first originals of prompts that were copied from copies,
// which only refer to the previous one. If two transcripts have different
// originals for the same record, the smaller key counts, so that the order of
// reading has no influence. A record that refers to itself has no other
// original.
func (h *History) trace() {
	origin := map[transcript.Key]transcript.Key{}
	for _, p := range h.logs {
		for key, named := range p.origin {
			if known, ok := origin[key]; named != key && (!ok || named < known) {
				origin[key] = named
			}
		}
	}
	for _, r := range h.records {
		if !r.copied ||
			r.kind != transcript.KindTurnStart && r.kind != transcript.KindTurnEnd {
			continue
		}
		for range 64 { // bounded, as references may form a circle
			before, ok := origin[r.key]
			if !ok {
				break
			}
			r.key = before
		}
	}
}

// records yields all records, with their transcripts.
func (h *History) records(yield func(*log, *record) bool) {
	for _, p := range h.logs {
		for i := range p.records {
			if !yield(p, &p.records[i]) {
				return
			}
		}
	}
}

// share finds the records that are in several transcripts.
func (h *History) share() {
	h.trace()
	h.shared = map[transcript.Key]*common{}
	first := map[transcript.Key]*log{}
	for p, r := range h.records {
		if !r.bearsKey() {
			continue
		}
		if first[r.key] == nil {
			first[r.key] = p
		} else if first[r.key] != p {
			h.shared[r.key] = &common{}
		}
	}
	for p, r := range h.records {
		c := h.common(r)
		if c == nil {
			continue
		}
		if c.last != p {
			c.last = p
			c.logs++
		}
		if c.at == 0 || r.at != 0 && r.at < c.at {
			c.at = r.at
		}
	}
}

// common returns the shared state of a record in several transcripts, nil for
// others.
func (h *History) common(r *record) *common {
	if !r.bearsKey() {
		return nil
	}
	return h.shared[r.key]
}

// restoreOrder gives copied records their original times, and sorts the records
// of a fork that has written its new ones before the copies. Any other order is
// kept. Copies are adjacent: a single record may have the key of another by
// chance.
func (h *History) restoreOrder(p *log) {
	timed := true
	late := false
	row := true
	for i := range p.records {
		r := &p.records[i]
		if r.bearsKey() {
			c := h.shared[r.key]
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
		slices.SortStableFunc(p.records, func(a, b record) int { return cmp.Compare(a.at, b.at) })
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

// earlier orders logs: originals before copies, then by their beginning, those
// without any time last. Of two that begin alike, as snapshots and resumes of
// one session do, the one comes first whose first own record is earlier, or
// that has none.
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

// owners finds the transcript in which each shared record happened first, which
// is not a marked copy if there is an unmarked record. It also finds the
// transcripts that end with a reading after which another transcript continues.
func (h *History) owners() {
	for _, p := range h.logs {
		for i := range p.records {
			r := &p.records[i]
			if c := h.common(r); c != nil && (c.owner == nil || c.copied && !r.copied) {
				c.owner = p
				c.copied = r.copied
			}
		}
		if c := h.shared[p.last]; c != nil {
			c.ends++
			c.ender = cmp.Or(c.ender, p)
		}
	}
	for _, p := range h.logs {
		if c := h.shared[p.last]; c != nil && (c.ends < c.logs || c.ender != p) {
			p.passed = true
		}
	}
}
