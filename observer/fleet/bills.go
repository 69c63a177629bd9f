package fleet

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"sm/transcript"
	"sm/transcript/bills"
)

const (
	// maxWorked is the number of sessions whose work is kept for the session that continues
	// them; goesOnWithin is how long it is kept.
	maxWorked    = 256
	goesOnWithin = transcript.Instant(3600e9)
)

// worked is what a session did. dir and started tell which sessions may follow it.
type worked struct {
	done    transcript.Worked
	started transcript.Instant
	active  transcript.Instant
	context int64 // at its end, 0 while unknown
	dir     string
}

// did keeps what was done in a change, of the newest sessions.
func (f *Fleet) did(x *file, c *transcript.Change) {
	w := f.worked[x.of]
	if w == nil {
		w = &worked{}
		f.worked[x.of] = w
	}
	w.done = bills.Extend(w.done, c.Worked)
	w.started = x.Session.Started
	w.active = x.Session.Active
	w.dir = filepath.Dir(x.Cursor.Path)
	w.context, _ = x.Session.Context()
	if len(f.worked) > maxWorked {
		oldest := slices.SortedFunc(maps.Keys(f.worked), func(a, b *session) int {
			return cmp.Or(cmp.Compare(f.worked[b].active, f.worked[a].active), strings.Compare(a.key, b.key))
		})
		for _, s := range oldest[maxWorked/2:] {
			delete(f.worked, s)
		}
	}
}

// goOn records that an agent continues in another session.
func (f *Fleet) goOn(from *session, to *session) {
	if from == nil || from == to {
		return
	}
	to.after = from
	if from.record != nil && len(to.record.Totals.Bills.List) == 0 {
		to.record.Totals.Bills.Dear = from.record.Totals.Bills.Dear
	}
}

// before is what the session did that another one continues: the agent's own, else
// the one of the same folder that was last active.
func (f *Fleet) before(x *file) *worked {
	if w := f.worked[x.of.after]; w != nil {
		return w
	}
	dir := filepath.Dir(x.Cursor.Path)
	start := x.Session.Started
	var last *session
	for s, w := range f.worked {
		if s == x.of || w.dir != dir || w.active > start || start-w.active > goesOnWithin || w.started >= start {
			continue
		}
		if last == nil || w.active > f.worked[last].active || w.active == f.worked[last].active && s.key < last.key {
			last = s
		}
	}
	x.of.after = last
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
	kept, was, ok := rec.Totals.Bills.With(v)
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
	rec.Totals.Bills = kept
	f.changed.record(rec.SessionID)
}
