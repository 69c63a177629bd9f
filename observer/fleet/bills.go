package fleet

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"

	"sm/transcript"
	"sm/transcript/bills"
)

const (
	// workedKept bounds the sessions whose work is kept for the session that goes on from
	// them; goesOnWithin is how long it is kept.
	workedKept   = 256
	goesOnWithin = transcript.Instant(3600e9)
)

// worked is what a session did.
type worked struct {
	done    transcript.Worked
	started transcript.Instant
	active  transcript.Instant
	context int64 // at its end, 0 while unknown
	dir     string
}

// did keeps what a change says was done.
func (f *Fleet) did(x *file, c *transcript.Change) {
	w := f.worked[x.of.key]
	if w == nil {
		w = &worked{}
		f.worked[x.of.key] = w
	}
	w.done = bills.Extend(w.done, c.Worked)
	w.started, w.active, w.dir = x.Session.Started, x.Session.Active, filepath.Dir(x.Cursor.Path)
	w.context, _ = x.Session.Context()
	if len(f.worked) > workedKept {
		keys := slices.SortedFunc(maps.Keys(f.worked), func(p, q string) int {
			return cmp.Or(cmp.Compare(f.worked[q].active, f.worked[p].active), cmp.Compare(p, q))
		})
		for _, key := range keys[workedKept/2:] {
			delete(f.worked, key)
			delete(f.after, key)
		}
	}
}

// goOn records that an agent continues in another session.
func (f *Fleet) goOn(from string, to *SessionRecord) {
	if from == "" || from == to.SessionID {
		return
	}
	f.follows(to.SessionID, from)
	if rec := f.recordOf(from); rec != nil && rec.bills().Dear > 0 && len(to.bills().List) == 0 {
		to.bill(bills.Kept{Dear: rec.bills().Dear})
	}
}

// follows notes which session another one goes on from. Of many that are known those are forgotten whose work is.
func (f *Fleet) follows(to, from string) {
	if len(f.after) >= workedKept {
		maps.DeleteFunc(f.after, func(_, from string) bool { return f.worked[from] == nil })
	}
	if len(f.after) >= workedKept {
		clear(f.after) // sessions that are resumed again and again: the folder says which one came before
	}
	f.after[to] = from
}

// before is what the session did that another one goes on from: the agent's own, else the one of the same
// folder that was last active.
func (f *Fleet) before(x *file) *worked {
	if w := f.worked[f.after[x.of.key]]; w != nil {
		return w
	}
	dir := filepath.Dir(x.Cursor.Path)
	start := x.Session.Started
	last := ""
	for key, w := range f.worked {
		if key == x.of.key || w.dir != dir || w.active > start || start-w.active > goesOnWithin || w.started >= start {
			continue
		}
		if last == "" || w.active > f.worked[last].active || w.active == f.worked[last].active && key < last {
			last = key
		}
	}
	if last != "" {
		f.follows(x.of.key, last)
	}
	return f.worked[last]
}

// bill takes the bills of a change of a session's own file. What was copied from another session
// is on that one's bill.
func (f *Fleet) bill(x *file, list []transcript.Bill, counts func(at transcript.Instant) bool) {
	if x.sub || x.of.record == nil || x != x.of.own[0] {
		return
	}
	for i := range list {
		v := list[i]
		if v.Kind == transcript.BilledCompaction && slices.Contains(x.Copies, v.Key) ||
			v.Kind != transcript.BilledCompaction && x.Inherited.Messages > 0 {
			continue
		}
		if v.Kind != transcript.BilledCompaction && v.Before == 0 {
			if w := f.before(x); w != nil {
				v = bills.Against(v, w.done, w.context, w.active)
			}
		}
		v.Work = nil
		v.Grown = nil
		f.keepBill(x.of.record, v, counts(v.At))
	}
}

// keepBill adds a bill to a session and counts its growth. History decides what is
// expensive, and starts no row.
func (f *Fleet) keepBill(rec *SessionRecord, v transcript.Bill, counts bool) {
	kept, was, ok := rec.bills().With(v)
	if !ok {
		return
	}
	if counts && f.counters.Billed(&was, &v) {
		f.changed.count()
	}
	if v.Done && !was.Done && v.Kind == transcript.BilledCompaction && v.Trigger != transcript.Idle {
		dear := false
		f.counters.Dear, dear = bills.Dear(f.counters.Dear, v.Tokens)
		if kept.Dear++; !dear || !counts {
			kept.Dear = 0
		}
		f.changed.count()
	}
	rec.bill(kept)
	f.changed.record(rec.SessionID)
}

// bills are those of a session.
func (s *SessionRecord) bills() bills.Kept {
	if s.Totals == nil {
		return bills.Kept{}
	}
	return s.Totals.Bills
}

// bill gives a session other bills.
func (s *SessionRecord) bill(b bills.Kept) {
	t := Totals{Bills: b}
	if s.Totals != nil {
		t.List = s.Totals.List
	}
	s.Totals = &t
}
