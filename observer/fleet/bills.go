package fleet

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"

	"sm/transcript"
	"sm/transcript/bills"
)

// Bills are those of a session's newest boundaries, the last one last, as far as they may still
// grow or be shown; Dear counts the bills in a row that were in the worst tenth, those of the
// agent's sessions before included.
type Bills struct {
	List []transcript.Bill
	Dear int
}

// BillTotals sums up what agents did again after boundaries of one kind: calls of Read, those of
// files read before, and the tokens that these brought.
type BillTotals struct{ Reads, Rereads, Tokens uint64 }

const (
	// billsKept is how many bills of a session are kept.
	billsKept = 4
	// workedKept bounds the sessions of which is kept what they did, for the one that goes on from
	// them; goesOnWithin is how long one waits for that.
	workedKept   = 256
	goesOnWithin = transcript.Instant(3600e9)
	// dearKept is how many bills say what is dear, dearLeast how many it takes at least.
	dearKept, dearLeast = 100, 10
)

// billing knows what boundaries cost, and what sessions did before theirs.
type billing struct {
	*roster
	worked map[string]*worked // by session
	after  map[string]string  // of sessions: the one that the agent had before
}

// worked is what a session did.
type worked struct {
	done    transcript.Worked
	started transcript.Instant
	active  transcript.Instant
	context int64 // at its end, 0 while unknown
	dir     string
}

// did keeps what a change says was done.
func (b *billing) did(x *file, c *transcript.Change) {
	w := b.worked[x.of.key]
	if w == nil {
		w = &worked{}
		b.worked[x.of.key] = w
	}
	w.done = bills.Extend(w.done, c.Worked)
	w.started, w.active, w.dir = x.Session.Started, x.Session.Active, filepath.Dir(x.Cursor.Path)
	w.context, _ = x.Session.Context()
	if len(b.worked) > workedKept {
		keys := slices.SortedFunc(maps.Keys(b.worked), func(p, q string) int {
			return cmp.Or(cmp.Compare(b.worked[q].active, b.worked[p].active), cmp.Compare(p, q))
		})
		for _, key := range keys[workedKept/2:] {
			delete(b.worked, key)
			delete(b.after, key)
		}
	}
}

// goOn says that an agent goes on to another session.
func (b *billing) goOn(from string, to *SessionRecord) {
	if from == "" || from == to.SessionID {
		return
	}
	b.after[to.SessionID] = from
	if rec := b.records[from]; rec != nil && rec.bills().Dear > 0 && len(to.bills().List) == 0 {
		to.bill(Bills{Dear: rec.bills().Dear})
	}
}

// before is what the session did that another one goes on from: the agent's own, else the one of the same
// folder that was last active.
func (b *billing) before(x *file) *worked {
	if w := b.worked[b.after[x.of.key]]; w != nil {
		return w
	}
	dir, start := filepath.Dir(x.Cursor.Path), x.Session.Started
	last := ""
	for key, w := range b.worked {
		if key == x.of.key || w.dir != dir || w.active > start || start-w.active > goesOnWithin || w.started >= start {
			continue
		}
		if last == "" || w.active > b.worked[last].active || w.active == b.worked[last].active && key < last {
			last = key
		}
	}
	if last != "" {
		b.after[x.of.key] = last
	}
	return b.worked[last]
}

// bill takes the bills of a change of a session's own file. What was copied from another session
// is on that one's bill.
func (b *billing) bill(x *file, list []transcript.Bill, counts func(at transcript.Instant) bool) {
	if x.sub || x.of.record == nil || x != x.of.own[0] {
		return
	}
	for i := range list {
		v := list[i]
		if v.Kind == transcript.BilledCompaction && slices.Contains(x.also().Copies, v.Key) || v.Kind != transcript.BilledCompaction && x.also().Inherited.Messages > 0 {
			continue
		}
		if v.Kind != transcript.BilledCompaction && v.Before == 0 {
			if w := b.before(x); w != nil {
				v = bills.Against(v, w.done, w.context, w.active)
			}
		}
		v.Work, v.Grown = nil, nil
		b.keep(x.of.record, v, counts(v.At))
	}
}

// keep puts a bill among those of a session, and counts by how much it has grown.
func (b *billing) keep(rec *SessionRecord, v transcript.Bill, counts bool) {
	known := rec.bills()
	known.List = slices.Clone(known.List)
	i := slices.IndexFunc(known.List, func(w transcript.Bill) bool { return w.Kind == v.Kind && w.Key == v.Key })
	var was transcript.Bill
	switch {
	case i >= 0:
		if was = known.List[i]; v.Replies < was.Replies || v.Rereads < was.Rereads {
			return // it was known better: the session before is no longer known
		}
		known.List[i] = v
	case len(known.List) > 0 && v.At < known.List[len(known.List)-1].At:
		return // of a file that is read once more
	default:
		known.List = append(known.List, v)
		known.List = known.List[max(0, len(known.List)-billsKept):]
	}
	if counts {
		b.count(&was, &v)
	}
	if v.Done && !was.Done && v.Kind == transcript.BilledCompaction {
		known.Dear = b.judge(v.Tokens, known.Dear, counts)
	}
	rec.bill(known)
	b.changed.record(rec.SessionID)
}

// bills are those of a session.
func (s *SessionRecord) bills() Bills {
	if s.Totals == nil {
		return Bills{}
	}
	return s.Totals.Bills
}

// bill gives a session other bills.
func (s *SessionRecord) bill(b Bills) {
	t := Totals{Bills: b}
	if s.Totals != nil {
		t.List = s.Totals.List
	}
	s.Totals = &t
}

// count adds by how much a bill has grown.
func (b *billing) count(was, now *transcript.Bill) {
	if now.Reads == was.Reads && now.Rereads == was.Rereads && now.Tokens == was.Tokens {
		return
	}
	t := &b.counters.Bills[now.Kind]
	t.Reads += uint64(max(0, now.Reads-was.Reads))
	t.Rereads += uint64(max(0, now.Rereads-was.Rereads))
	t.Tokens += uint64(max(0, now.Tokens-was.Tokens))
	b.changed.count()
}

// judge says how many bills in a row are now in the worst tenth of those before. History says what is
// dear, and begins no row.
func (b *billing) judge(tokens int64, row int, counts bool) int {
	known := b.counters.Dear
	sorted := slices.Sorted(slices.Values(known))
	b.counters.Dear = append(slices.Clone(known[max(0, len(known)-dearKept+1):]), tokens)
	b.changed.count()
	if !counts || tokens == 0 || len(sorted) < dearLeast || tokens <= sorted[len(sorted)*9/10] {
		return 0
	}
	return row + 1
}
