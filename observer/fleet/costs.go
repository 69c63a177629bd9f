package fleet

import (
	"cmp"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sm/observer/tally"
	"sm/transcript"
	"sm/transcript/bills"
	"sm/transcript/claude/hook"
)

// report takes from a report of the status line what it has of the session besides the
// context. One that is older than another before it, or than the session, is ignored.
func (f *Fleet) report(a *agent, s *hook.Status, at transcript.Instant) {
	if at < a.Statusline || at < a.Since {
		return
	}
	a.Report.Name = s.SessionName
	if hit := s.PromptCache.HitRatio; hit.Null || hit.Known && hit.Value <= 1 {
		a.Report.CacheHit = hit.Value
		a.Report.CacheHitKnown = hit.Known
	}
	if cache := s.PromptCache; cache.ExpiresAt.Known {
		a.Report.CacheTTL = cache.TTL
		a.Report.CacheExpires = transcript.InstantOf(time.Unix(cache.ExpiresAt.Value, 0))
	}
	if total := s.Cost.TotalUSD; total.Known {
		f.pay(a, total.Value, senderOf(&s.SM), at)
	}
	for i, l := range [...]hook.RateLimit{s.RateLimits.FiveHour, s.RateLimits.SevenDay} {
		if l.UsedPercentage.Known && l.ResetsAt.Known {
			a.Limits[i] = Limit{
				At:     at,
				Resets: transcript.InstantOf(time.Unix(l.ResetsAt.Value, 0)),
				Used:   min(1, l.UsedPercentage.Value/100),
			}
		}
	}
}

// Limits returns the newest rate limits that clients of an account reported: five
// hours, seven days. A limit that was reset since, or never reported, is zero.
func (f *Fleet) Limits(now time.Time) (limits [2]Limit) {
	for _, a := range f.agents {
		for i, l := range a.Limits {
			if l.Resets > transcript.InstantOf(now) &&
				(l.At > limits[i].At || l.At == limits[i].At && l.Used > limits[i].Used) {
				limits[i] = l
			}
		}
	}
	return limits
}

// Totals are what few sessions have: the running totals that clients reported,
// the newest last, and the bills of their boundaries.
type Totals struct {
	List  []Total
	Bills bills.Kept
}

// Total is the newest total that a client reported, in US dollars, with its process and
// the time of the first report that has it. A client that ended without a report has 0.
type Total struct {
	USD float64
	Process
	At transcript.Instant
	// Base means that nothing of it was counted: counting begins there, and what is read
	// later of the time before is estimated.
	Base bool
}

const (
	// maxTotals bounds how many are kept of a session.
	maxTotals = 16
	// young is the maximum age of a session whose first report has all of its cost.
	young = transcript.Instant(5 * time.Minute)
	// reportDelay is how long after a message the report that includes it is awaited.
	reportDelay = transcript.Instant(time.Minute)
)

// pay counts by how much a client's total has grown. A client that resumes a session goes
// on from the session's total at its last exit, which may be old, or from 0. Counting begins
// at its first report, or in its first 5 seconds at the first that is not 0, unless the
// session began with it. A total that falls in one process has begun anew.
func (f *Fleet) pay(a *agent, usd float64, p Process, at transcript.Instant) {
	rec := f.recordOf(a.Session)
	if rec == nil {
		return
	}
	own := -1.0
	for _, v := range rec.Totals.List {
		if v.Process == p {
			own = v.USD
		}
	}
	spent := 0.0
	reading := a.Carried >= a.Begun && at <= a.Carried+lag &&
		(a.Statusline < a.Carried || own <= 0 || usd < own)
	switch {
	case reading: // it may show 0 before it has read the session's total
	case own < 0:
		// The session began with its client, and all of it was observed or has just happened.
		if len(rec.Totals.List) == 0 && (a.Fresh == a.Session ||
			f.transcript(a.Session) != nil && len(f.recordsOf(a.ID)) < 2 && f.isNew(a, at)) {
			spent = usd
		}
	case usd >= own:
		spent = usd - own
	case p.known() && (a.Report.Cost.Known || f.isNew(a, at)):
		spent = usd
	}
	if usd != own {
		f.keepTotal(f.sessions[a.Session], Total{
			USD:     usd,
			Process: p,
			At:      at,
			Base:    spent == 0,
		})
	}
	a.Report.Cost = tally.Cost{USD: usd, Known: true}
	f.counters.Cost.Add(spent)
	if spent > 0 { // else no more is known than what was spent before
		f.counters.Today.Cost.Add(spent)
	}
}

// spend adds what a message cost more than before to what no client has reported yet.
func (f *Fleet) spend(x *file, m *transcript.Message) {
	u := f.counters.SpentToday(m)
	at := cmp.Or(m.At, f.newest)
	switch t := x.of.newestTotal(); {
	case at < t.At: // the client had spent it before it reported this total
		if t.Base {
			f.price(x, Unreported{at, u}, &f.counters.Today.Kept)
		}
		return
	case x.Unreported.Since < f.counters.Today.Begins:
		x.Unreported = Unreported{Since: at}
	case at < f.counters.Today.Begins: // read after one of today
		return
	}
	x.Unreported.Tokens = x.Unreported.Tokens.Plus(u)
}

// keepTotal keeps a client's newest total. The wait for a report of what was spent until then
// ends: if the total was not counted, that stays in today's estimate.
func (f *Fleet) keepTotal(s *session, t Total) {
	totals := slices.DeleteFunc(
		slices.Clone(s.record.Totals.List),
		func(v Total) bool { return v.Process == t.Process },
	)
	s.record.Totals.List = append(totals, t)[max(0, len(totals)+1-maxTotals):]
	f.changed.record(s.key)
	for _, x := range slices.Concat(s.own, s.side) {
		if x.Unreported.Since > t.At {
			continue
		}
		if t.Base {
			f.price(x, x.Unreported, &f.counters.Today.Kept)
		}
		x.Unreported = Unreported{}
		f.changed.file(x.Cursor.Path)
	}
}

// newestTotal is the newest total that a client reported of the session, zero for none.
func (s *session) newestTotal() (t Total) {
	if s.record != nil && len(s.record.Totals.List) > 0 {
		t = s.record.Totals.List[len(s.record.Totals.List)-1]
	}
	return t
}

// overdue reports whether a file has tokens that no client has reported the cost of, and
// no running client is about to report.
func (f *Fleet) overdue(x *file, now time.Time) bool {
	t := x.of.newestTotal()
	return x.Unreported.Tokens != (transcript.Usage{}) &&
		(x.Unreported.Since+reportDelay < transcript.InstantOf(now) ||
			!f.alive(t.Process))
}

// EstimatedToday estimates by Options.Prices the cost of today, in US dollars, that no
// client has reported and no running client is about to report. It is nil where no model
// has a price; unpriced means that others have none.
func (f *Fleet) EstimatedToday(now time.Time) (usd *float64, unpriced bool) {
	sum := f.counters.Today.Kept
	for _, x := range f.files {
		if f.overdue(x, now) {
			f.price(x, x.Unreported, &sum)
		}
	}
	if !sum.Known {
		return nil, false
	}
	return new(math.Round(sum.USD*1e6) / 1e6), sum.Unpriced // whatever the order of the files
}

// price adds what the unreported tokens of today in a file cost.
func (f *Fleet) price(x *file, u Unreported, sum *tally.Estimate) {
	if u.Since < f.counters.Today.Begins || u.Tokens == (transcript.Usage{}) {
		return
	}
	if usd, ok := f.options.Prices.Cost(x.Session.Model, u.Tokens); ok {
		sum.Add(usd)
	} else {
		sum.Unpriced = true
	}
}

// isNew reports whether a session is young by its transcript and has no copied
// records.
func (f *Fleet) isNew(a *agent, at transcript.Instant) bool {
	x := f.transcript(a.Session)
	return x == nil ||
		x.Session.Started != 0 && at-x.Session.Started <= young && x.Inherited == transcript.Sums{}
}

const (
	// maxWorked is the number of sessions whose work is kept for the session that continues
	// them; goesOnWithin is how long it is kept.
	maxWorked    = 256
	goesOnWithin = transcript.Instant(3600e9)
)

// worked is what a session did. dir and started decide which sessions may follow it.
type worked struct {
	done    transcript.Worked
	started transcript.Instant
	active  transcript.Instant
	context int64 // at its end, 0 while unknown
	dir     string
}

// keepWork keeps what was done in a change, of the newest sessions.
func (f *Fleet) keepWork(x *file, c *transcript.Change) {
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
			return cmp.Or(
				cmp.Compare(f.worked[b].active, f.worked[a].active),
				strings.Compare(a.key, b.key),
			)
		})
		for _, s := range oldest[maxWorked/2:] {
			delete(f.worked, s)
		}
	}
}

// continueIn records that an agent continues in another session. That begins with the
// totals of the one before, for the client may go on counting; one that began with its
// client does not.
func (f *Fleet) continueIn(a *agent, to *session) {
	from := f.sessions[a.Session]
	if from == nil {
		return
	}
	to.after = from
	if from.record == nil {
		return
	}
	was := &from.record.Totals
	totals := &to.record.Totals
	if len(totals.List) == 0 && a.Fresh != to.key {
		// The client may go on from its own total, but not from the totals of other clients.
		totals.List = slices.DeleteFunc(
			slices.Clone(was.List),
			func(v Total) bool { return v.Process != a.Process },
		)
	}
	if len(totals.Bills.List) == 0 {
		totals.Bills.Dear = was.Bills.Dear
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
		if s == x.of || w.dir != dir || w.active > start || start-w.active > goesOnWithin ||
			w.started >= start {
			continue
		}
		if last == nil || w.active > f.worked[last].active ||
			w.active == f.worked[last].active && s.key < last.key {
			last = s
		}
	}
	x.of.after = last
	return f.worked[last]
}

// bill takes the bills of a change of a session's own file. What was copied
// from another session is on that one's bill.
func (f *Fleet) bill(x *file, p *past) {
	if x.sub || x.of.record == nil || x != x.of.own[0] {
		return
	}
	for _, v := range p.bills {
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
		f.keepBill(x.of.record, v, f.counts(p, v.At))
	}
}

// keepBill adds a bill to a session and counts its growth. History decides what is
// expensive, and starts no row.
func (f *Fleet) keepBill(rec *SessionRecord, v transcript.Bill, counts bool) {
	kept, was, ok := rec.Totals.Bills.With(v)
	if !ok {
		return
	}
	if counts {
		f.counters.Billed(&was, &v)
	}
	if v.Done && !was.Done && v.Kind == transcript.BilledCompaction &&
		v.Trigger != transcript.Idle {
		dear := false
		f.counters.Dear, dear = bills.Dear(f.counters.Dear, v.Tokens)
		if kept.Dear++; !dear || !counts {
			kept.Dear = 0
		}
	}
	rec.Totals.Bills = kept
	f.changed.record(rec.SessionID)
}
