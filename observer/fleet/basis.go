package fleet

import (
	"time"

	"sm/alerts"
	"sm/observer/tally"
	"sm/transcript"
	"sm/transcript/clients"
)

// basis is what all parts of a fleet share.
type basis struct {
	options  Options
	created  transcript.Instant
	settled  bool
	newest   transcript.Instant // the newest time of any record or signal
	counters tally.Counters
	dropped  uint64 // reports of the status line that were too old, or of another session
	changed  changes
}

// client returns the client that wrote a session.
func (b *basis) client(s *transcript.Session) *clients.Client { return b.options.Clients.Of(s) }

// Configure changes the windows and the thresholds by which sessions are shown.
func (b *basis) Configure(windows []transcript.WindowRule, thresholds alerts.Thresholds) {
	b.options.Windows = windows
	b.options.Thresholds = thresholds
}

// Counters are the fleet's figures that only grow.
func (b *basis) Counters() tally.Counters { return b.counters.Clone() }

// Created is when the state directory was made.
func (b *basis) Created() time.Time { return b.created.Time() }

// Attempted counts compactions that an agent of a client began, by trigger, and its storms: the engine has counted them.
func (b *basis) Attempted(client string, attempts [4]uint64, storms uint64) {
	b.counters.Attempted(client, attempts, storms)
	b.changed.count()
}

// Settled reports whether the history found at the first start is complete.
func (b *basis) Settled() bool { return b.settled }

// Dropped counts the reports of the status line that said nothing any more.
func (b *basis) Dropped() uint64 { return b.dropped }

// counts reports whether an event at that time changes counters once history is
// settled: everything that was appended while the observer ran, and of files
// found whole, what is not older than the state directory.
func (b *basis) counts(whole bool, at transcript.Instant) bool {
	return !whole || at == 0 || at >= b.created
}

func (b *basis) alive(pid int, start string) bool {
	return b.options.Alive != nil && b.options.Alive(pid, start)
}

// temper mends the stamps of new records of a file that lie ahead of the clock, or ahead
// of records that were written after them: they count as written now, or just before
// those. One far behind what was written before it, as after the clock was set back,
// counts as written now, too. Else one such stamp would make all that follows look old.
func (b *basis) temper(x *file, entries []transcript.Entry) {
	latest := b.newest
	if latest == 0 {
		return // no time is known
	}
	ahead := func(at transcript.Instant) bool { return at > latest+skew }
	for i := len(entries) - 1; i >= 0; i-- {
		e := &entries[i]
		if e.At == 0 {
			continue
		}
		if ahead(e.At) {
			e.At = latest
			x.more().ahead = max(x.also().ahead, latest)
		}
		if e.InOrder && e.At < latest {
			latest = e.At
		}
	}
	for i := range entries {
		e := &entries[i]
		switch {
		case !e.InOrder || e.At == 0:
			continue
		case e.At+skew < x.stamped:
			e.At = b.newest
			x.more().ahead = max(x.also().ahead, e.At)
		case e.At < x.also().ahead && x.also().ahead-e.At <= skew:
			e.At = x.also().ahead // earlier records stay earlier
		}
		x.stamped = e.At
	}
}
