package fleet

import (
	"time"

	"sm/transcript"
)

// session is the key of the session that a row is of, "" for none.
func (r *row) session() string {
	switch {
	case r.s != nil:
		return r.s.key
	case r.of != nil:
		return r.of.Session
	}
	return ""
}

// ended says whether the client of a row that the registry does not list has ended, and
// nothing has been heard of the session since. Records may be stamped a moment later than
// the client's last hook.
func (lv *liveness) ended(r *row) bool {
	at, heard := lv.gone[r.session()], transcript.Instant(0)
	if a := r.of; a != nil {
		at, heard = max(at, a.Ended), max(a.Hooked, a.Spoke)
	}
	if at == 0 {
		return false
	}
	if r.s != nil {
		x := r.s.own[0]
		wrote := x.Session.Active
		if wrote == 0 { // records without stamps
			wrote = max(transcript.Instant(x.Cursor.Modified), transcript.Instant(-x.Cursor.Modified))
		}
		heard = max(heard, wrote-lag)
	}
	return heard <= at
}

// Bury looks whose process has ended without a word, as after a kill, and reports whether
// there is any. It looks at those alone that were heard of lately and that the registry
// does not list: its entries are known to run.
func (lv *liveness) Bury(now time.Time) (news bool) {
	if lv.options.Alive == nil || !lv.settled {
		return false
	}
	at := transcript.InstantOf(now)
	for _, a := range lv.agents {
		r := row{of: a}
		if s := lv.sessions[a.Session]; s != nil && len(s.own) > 0 {
			r.s = s
		}
		if a.Runs && lv.unheld(&r, now) && !lv.alive(a.PID, a.Start) {
			a.Runs, a.Ended, news = false, at, true
			lv.changed.agent(a.ID)
		}
	}
	for p, key := range lv.holders {
		s := lv.sessions[key]
		if s == nil || len(s.own) == 0 || lv.gone[key] != 0 {
			continue
		}
		r := row{s: s, of: lv.sitting(s)}
		if r.of != nil && r.of.Runs { // in another process, as its hooks tell
			continue
		}
		if lv.unheld(&r, now) && !lv.alive(p.pid, p.start) {
			lv.gone[key], news = at, true
		}
	}
	return news
}

// unheld says whether a row counts as at work although the registry does not list it.
func (lv *liveness) unheld(r *row, now time.Time) bool {
	key := r.session()
	return key != "" && lv.clients[key].PID == 0 && lv.lately(r, now) && !lv.ended(r)
}
