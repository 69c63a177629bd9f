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

// report applies the values in a report of the status line besides the context.
// It ignores a report that is older than the previous one or than the session.
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

// Limits returns the newest rate limits that clients of an account reported,
// for five hours and for seven days. A limit that was reset since, or never
// reported, is zero.
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

// Totals are the running totals that clients reported of a session, the newest
// last, and the bills of its boundaries. Few sessions have either.
type Totals struct {
	List  []Total
	Bills bills.Kept
}

// Total is the newest total that a client reported, in US dollars, with the
// client's process and the time of the first report with this total. A client
// that ended without a report has 0.
type Total struct {
	USD float64
	Process
	At transcript.Instant
	// Base means that the total is only the start of counting: nothing of it
	// was counted, and the cost of messages before it is estimated.
	Base bool
}

const (
	// maxTotals is how many totals are kept of a session.
	maxTotals = 16
	// young is the maximum age of a session whose first report includes all of
	// its cost.
	young = transcript.Instant(5 * time.Minute)
	// reportDelay is how long after a message a report that includes its cost
	// may come.
	reportDelay = transcript.Instant(time.Minute)
)

// pay adds the growth of a client's total to the counters. A client that
// resumes a session continues from the session's total at its last exit, which
// may be old, or from 0. Counting begins at the first report, or in the first 5
// s at the first total that is not 0, unless the session began with the client.
// A total that falls within one process was restarted.
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
	case reading: // the client may report 0 before it has read the session's total
	case own < 0:
		// The session began with its client, and all of it was observed or has
		// just happened.
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
	if spent > 0 { // otherwise only the earlier cost is known
		f.counters.Today.Cost.Add(spent)
	}
}

// spend adds the growth of a message to the tokens whose cost no client has
// reported yet.
func (f *Fleet) spend(x *file, m *transcript.Message) {
	u := f.counters.SpentToday(m)
	at := cmp.Or(m.At, f.newest)
	switch t := x.of.newestTotal(); {
	case at < t.At: // this total includes the message
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

// keepTotal stores a client's newest total, and drops the unreported tokens
// that the total includes. If the total was not counted, they stay in today's
// estimate.
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

// newestTotal returns the newest total that a client reported of the session,
// zero for none.
func (s *session) newestTotal() (t Total) {
	if s.record == nil {
		return t
	}
	if list := s.record.Totals.List; len(list) > 0 {
		t = list[len(list)-1]
	}
	return t
}

// overdue reports whether a file has tokens whose cost no client has reported,
// and no running client is about to report.
func (f *Fleet) overdue(x *file, now time.Time) bool {
	return x.Unreported.Tokens != (transcript.Usage{}) &&
		(x.Unreported.Since+reportDelay < transcript.InstantOf(now) ||
			!f.alive(x.of.newestTotal().Process))
}

// EstimatedToday returns today's cost, in US dollars, that no client has
// reported and no running client is about to report, estimated by
// Options.Prices. It is nil if no model has a price; unpriced means that some
// models have none.
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
	return new(math.Round(sum.USD*1e6) / 1e6), sum.Unpriced // independent of the order of the files
}

// price adds the estimated cost of a file's unreported tokens of today to sum.
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
	// maxWorked is the number of sessions whose work is kept for the session
	// that continues them; continuedWithin is how long it is kept.
	maxWorked       = 256
	continuedWithin = transcript.Instant(3600e9)
)

// worked is the work of a session. dir and started decide which sessions may
// continue it.
type worked struct {
	done    transcript.Worked
	started transcript.Instant
	active  transcript.Instant
	context int64 // at its end, 0 while unknown
	dir     string
}

// keepWork adds the work in a change to that of its session, and keeps the work
// of the newest sessions.
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

// continueIn records that an agent continues in another session. That session
// begins with the totals of the previous one, as the client may continue
// counting, unless it began together with its client.
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
		// The client may continue from its own total, but not from the totals
		// of other clients.
		totals.List = slices.DeleteFunc(
			slices.Clone(was.List),
			func(v Total) bool { return v.Process != a.Process },
		)
	}
	if len(totals.Bills.List) == 0 {
		totals.Bills.Dear = was.Bills.Dear
	}
}

// before returns the work of the session that x continues: the agent's previous
// one, else the last active one of the same folder; nil for none.
func (f *Fleet) before(x *file) *worked {
	if w := f.worked[x.of.after]; w != nil {
		return w
	}
	dir := filepath.Dir(x.Cursor.Path)
	start := x.Session.Started
	var last *session
	for s, w := range f.worked {
		if s == x.of || w.dir != dir || w.active > start || start-w.active > continuedWithin ||
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

// bill applies the bills in a change of a session's own file. Copied boundaries
// are on the bill of the session that they were copied from.
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

// keepBill adds a bill to a session and counts its growth. Bills from the
// history determine which bills are expensive, but do not count as expensive
// themselves.
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
