package fleet

import (
	"slices"
	"time"

	"sm/observer/tally"
	"sm/transcript"
	"sm/transcript/bills"
	"sm/transcript/claude/hook"
)

// report takes from a report of the status line what it says of the session besides the
// context. One that is older than another before it, or than the session, says nothing.
func (f *Fleet) report(a *agent, s *hook.Status, at transcript.Instant) {
	if at < a.Spoke || at < a.Since {
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
		f.pay(a, total.Value, Process{s.SM.PID, s.SM.Start}, at)
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

// Totals are what few sessions have: the running totals that clients reported, the newest last, and the bills of
// their boundaries.
type Totals struct {
	List  []Total
	Bills bills.Kept
}

// Total is the newest total that a client reported, in US dollars; PID and Start name its
// process.
type Total struct {
	USD   float64
	PID   int
	Start string
}

const (
	// maxTotals bounds how many are kept of a session.
	maxTotals = 16
	// young is the maximum age of a session whose first report has all of its cost.
	young = transcript.Instant(5 * time.Minute)
)

// pay counts by how much a client's total has grown. A client that resumes a session goes
// on from the session's total at its last exit, which may be old, or from 0: its first
// report is where counting begins, unless the session began with it. A total that falls in
// one process has begun anew. No part of a total counts that any client reported before,
// so that the sum is never more than was spent.
func (f *Fleet) pay(a *agent, usd float64, p Process, at transcript.Instant) {
	rec := f.recordOf(a.Session)
	if rec == nil {
		return
	}
	before := rec.Totals.List
	own := -1
	base := 0.0
	for i, v := range before {
		if (Process{v.PID, v.Start}) == p {
			own = i
		}
		if v.USD <= usd {
			base = max(base, v.USD)
		}
	}
	spent := 0.0
	switch {
	case a.Carried != 0 && at <= a.Carried+lag: // it may show 0 before it has read the session's total
	case own < 0:
		if len(before) == 0 && f.begun(a, at) {
			spent = usd
		}
	case usd >= before[own].USD:
		spent = usd - base
	case p.known() && (a.Report.Cost.Known || f.isNew(a, at)):
		spent = usd
	}
	if own < 0 || usd != before[own].USD {
		totals := slices.Clone(before)
		if own >= 0 {
			totals = slices.Delete(totals, own, own+1)
		}
		totals = append(totals, Total{usd, p.PID, p.Start})
		rec.Totals.List = totals[max(0, len(totals)-maxTotals):]
		f.changed.record(rec.SessionID)
	}
	a.Report.Cost = tally.Cost{USD: usd, Known: true}
	f.spend(spent)
}

// spend adds what was spent to the counters.
func (f *Fleet) spend(spent float64) {
	known := f.counters.Cost.Known
	f.counters.Cost = tally.Cost{USD: f.counters.Cost.USD + spent, Known: true}
	if today := &f.counters.Today.Cost; spent > 0 { // else no more is known than what was spent before
		*today = tally.Cost{USD: today.USD + spent, Known: true}
	}
	if f.settled && (spent > 0 || !known) {
		f.changed.count()
	}
}

// carryTotals lets the session that an agent goes on to begin with the totals of the one
// before: the client may go on counting. One that began with its client does not.
func (f *Fleet) carryTotals(a *agent, to *SessionRecord) {
	if from := f.recordOf(a.Session); from != nil && len(to.Totals.List) == 0 && a.Fresh != to.SessionID {
		to.Totals.List = from.Totals.List
	}
}

// begun reports whether an agent's session began with its client, and all of it
// was observed or has just happened.
func (f *Fleet) begun(a *agent, at transcript.Instant) bool {
	return a.Fresh == a.Session || f.transcript(a.Session) != nil && !f.hasLeft(a) && f.isNew(a, at)
}

// isNew reports whether a session is young by its transcript and has no copied
// records.
func (f *Fleet) isNew(a *agent, at transcript.Instant) bool {
	x := f.transcript(a.Session)
	return x == nil || x.Session.Started != 0 && at-x.Session.Started <= young && x.Inherited == Inherited{}
}
