package fleet

import (
	"slices"
	"time"

	"sm/observer/fleet/crosscheck"
	"sm/observer/tally"
	"sm/transcript"
	"sm/transcript/bills"
	"sm/transcript/claude/hook"
)

// report takes from a report of the status line what it says of the session besides the
// context. One that is older than another before it, or than the session, says nothing.
func (cs *costs) report(a *Agent, s *hook.Status, at transcript.Instant) {
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
		cs.pay(a, total.Value, process{s.SM.PID, s.SM.Start}, at)
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
func (cs *costs) Limits(now time.Time) (limits [2]Limit) {
	for _, a := range cs.agents {
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
	// totalsMost bounds how many are kept of a session.
	totalsMost = 16
	// young is the maximum age of a session whose first report has all of its cost.
	young = transcript.Instant(5 * time.Minute)
)

// pay counts by how much a client's total has grown. A client that resumes a session goes
// on from the session's total at its last exit, which may be old, or from 0: its first
// report is where counting begins, unless the session began with it. A total that falls in
// one process has begun anew. No part of a total counts that any client reported before,
// so that the sum is never more than was spent.
func (cs *costs) pay(a *Agent, usd float64, p process, at transcript.Instant) {
	rec := cs.records[a.Session]
	if rec == nil {
		return
	}
	var before []Total
	if rec.Totals != nil {
		before = rec.Totals.List
	}
	own := -1
	base := 0.0
	for i, v := range before {
		if (process{v.PID, v.Start}) == p {
			own = i
		}
		if v.USD <= usd {
			base = max(base, v.USD)
		}
	}
	spent := 0.0
	switch {
	case a.Carried != 0 && at <= a.Carried+crosscheck.Lag: // it may show 0 before it has read the session's total
	case own < 0:
		if len(before) == 0 && cs.begun(a, at) {
			spent = usd
		}
	case usd >= before[own].USD:
		spent = usd - base
	case p.known() && (a.Report.Cost.Known || cs.isNew(a, at)):
		spent = usd
	}
	if own < 0 || usd != before[own].USD {
		totals := slices.Clone(before)
		if own >= 0 {
			totals = slices.Delete(totals, own, own+1)
		}
		totals = append(totals, Total{usd, p.pid, p.start})
		rec.Totals = &Totals{totals[max(0, len(totals)-totalsMost):], rec.bills()}
		cs.changed.record(rec.SessionID)
	}
	a.Report.Cost = tally.Cost{USD: usd, Known: true}
	cs.count(spent)
}

// count adds what was spent to the counters.
func (cs *costs) count(spent float64) {
	known := cs.counters.Cost.Known
	cs.counters.Cost = tally.Cost{USD: cs.counters.Cost.USD + spent, Known: true}
	if today := &cs.counters.Today.Cost; spent > 0 { // else no more is known than what was spent before
		*today = tally.Cost{USD: today.USD + spent, Known: true}
	}
	if cs.settled && (spent > 0 || !known) {
		cs.changed.count()
	}
}

// carryTotals lets the session that an agent goes on to begin with the totals of the one
// before: the client may go on counting. One that began with its client does not.
func (cs *costs) carryTotals(a *Agent, to *SessionRecord) {
	from := cs.records[a.Session]
	if from == nil || from.Totals == nil || len(from.Totals.List) == 0 || to.Totals != nil && len(to.Totals.List) > 0 ||
		a.Fresh == to.SessionID {
		return
	}
	to.Totals = &Totals{from.Totals.List, to.bills()}
	cs.changed.record(to.SessionID)
}

// begun reports whether an agent's session began with its client, and all of it
// was observed or has just happened.
func (cs *costs) begun(a *Agent, at transcript.Instant) bool {
	s := cs.sessions[a.Session]
	return a.Fresh == a.Session || s != nil && len(s.own) > 0 && !cs.hasLeft(a) && cs.isNew(a, at)
}

// isNew reports whether a session is young by its transcript and has no copied
// records.
func (cs *costs) isNew(a *Agent, at transcript.Instant) bool {
	s := cs.sessions[a.Session]
	if s == nil || len(s.own) == 0 {
		return true
	}
	x := s.own[0]
	return x.Session.Started != 0 && at-x.Session.Started <= young && x.also().Inherited == Inherited{}
}

// costs adds up what clients reported that sessions cost.
type costs struct{ *roster }
