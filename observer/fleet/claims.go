package fleet

import (
	"slices"
	"time"

	"sm/alerts"
	"sm/transcript"
)

// Name spaces of joined keys. They are stored: never renumber them.
const (
	boundaryDigests transcript.Key = 1 + iota
	summaryDigests
	subagentsOwner
)

// owner is the key under which a file claims. What subagents' files claim belongs
// to the session too, but under another key: some of them repeat the messages of
// the session's own file, and those count there alone.
func (x *file) owner() transcript.Key {
	if x.sub {
		return transcript.Join(x.of.owner, subagentsOwner)
	}
	return x.of.owner
}

// message claims a message for its session, or finds it to be a copy.
func (f *Fleet) message(x *file, m *transcript.Message, counts bool) {
	mine := x.owner()
	owner, claimed := f.messages[m.ID]
	if !claimed && f.options.Ledger != nil {
		owner, claimed = f.options.Ledger.Owner(m.ID)
	}
	first := m.Was == (transcript.Usage{})
	switch {
	case !claimed:
		f.messages[m.ID] = mine
		f.changed.messages = append(f.changed.messages, Claim{Key: m.ID, Owner: mine})
	case owner == mine:
		if first { // known: read again, or in another copy of the same file
			x.Known = append(slices.Clone(x.Known[max(0, len(x.Known)+1-maxKnown):]), m.ID)
		}
		if slices.Contains(x.Known, m.ID) {
			return
		}
	case !x.sub && owner == transcript.Join(mine, subagentsOwner):
		return // a subagent's file was read sooner; it has counted there
	default:
		addMessage(&x.Inherited, m, first)
		return
	}
	if counts {
		f.counters.Spend(m, f.client(&x.Session).Client)
	}
	if counts || m.At != 0 { // the history of today is part of the day, whatever counts
		f.spend(x, m)
	}
}

// maxKnown is how many messages a file remembers as counted before: the lines of
// one message are adjacent, so that only the newest can still grow.
const maxKnown = 8

// addMessage adds what a message costs more than before.
func addMessage(sums *transcript.Sums, m *transcript.Message, first bool) {
	n := &sums.Messages
	sum := &sums.Tokens
	if m.Side {
		n = &sums.SideMessages
		sum = &sums.SideTokens
	}
	if first {
		*n++
	}
	*sum = sum.Plus(m.Usage.Minus(m.Was))
}

// compaction claims a compaction for its session, or finds it to be a copy. It returns
// whether it is the session's own, and whether that is new: of an old one more has become
// known.
func (f *Fleet) compaction(x *file, p *past, e *transcript.Compaction) (own, fresh bool) {
	if x.sub {
		return false, false
	}
	mine := x.of.owner
	owner, claimed := f.compactionOwner(e, mine)
	if !claimed {
		owner = mine
	}
	space := summaryDigests
	if e.Boundary {
		space = boundaryDigests
	}
	for _, k := range [4]transcript.Key{e.Key, e.Own, e.Stamp, digestKey(space, e)} {
		if _, claimed := f.claims[k]; !claimed && k != 0 { // a copy of a copy is recognized, too
			f.claims[k] = owner
			f.changed.claims = append(f.changed.claims, Claim{Key: k, Owner: owner})
		}
	}
	switch {
	case owner != mine:
		// It happened in another session, and counts there. A later record may name the
		// trigger of one that was unknown.
		in := &x.Inherited.Compactions
		switch {
		case !slices.Contains(x.Copies, e.Key):
			x.Copies = append(x.Copies, e.Key)
			in[e.Trigger]++
		case in[transcript.Unknown] > x.Session.Compactions[transcript.Unknown]:
			in[transcript.Unknown]--
			in[e.Trigger]++
		}
	case !claimed && p.fresh > 0:
		p.fresh--
		fresh = true
		switch {
		case !f.counts(p, e.At):
		case e.Undecided:
			x.Undecided = append(slices.Clone(x.Undecided), *e)
			f.undecided[x] = f.newest
		default:
			f.countCompaction(x, e)
		}
	case !e.Undecided:
		f.decide(x, e)
	}
	return owner == mine, fresh
}

// countCompaction adds a compaction to the counters.
func (f *Fleet) countCompaction(x *file, e *transcript.Compaction) {
	f.counters.Compacted(e, f.client(&x.Session).Client)
	x.of.record.Counted[e.Trigger]++
	f.changed.record(x.of.key)
	if a := f.agents[x.of.record.Agent]; a != nil {
		a.Counted[e.Trigger]++
		f.changed.agent(a.ID)
	}
}

// decide counts a compaction whose trigger was undecided until now.
func (f *Fleet) decide(x *file, e *transcript.Compaction) {
	rest := slices.DeleteFunc(
		slices.Clone(x.Undecided),
		func(u transcript.Compaction) bool { return u.Key == e.Key },
	)
	if len(rest) == len(x.Undecided) {
		return
	}
	f.countCompaction(x, e)
	if x.Undecided = rest; len(rest) == 0 {
		delete(f.undecided, x)
	}
}

// undecidedFor is how long a compaction waits for a record that decides its
// trigger. The client writes the notice of an idle compaction within a second.
const undecidedFor = transcript.Instant(5 * time.Second)

// Decide counts the compactions that no record has decided within undecidedFor.
// It reports whether there were any.
func (f *Fleet) Decide(now time.Time) (counted bool) {
	at := transcript.InstantOf(now)
	for x, since := range f.undecided {
		if at-since < undecidedFor {
			continue
		}
		for i := range x.Undecided {
			f.countCompaction(x, &x.Undecided[i])
		}
		x.Undecided = nil
		delete(f.undecided, x)
		f.changed.file(x.Cursor.Path)
		counted = true
	}
	return counted
}

// compactionOwner returns the session of a compaction: by its own key, or the key
// of its earlier event, else by any of its keys that another session has. Within a
// session a digest does not decide, as short summaries repeat.
func (f *Fleet) compactionOwner(
	e *transcript.Compaction,
	mine transcript.Key,
) (owner transcript.Key, claimed bool) {
	for _, k := range [...]transcript.Key{e.Key, e.Was} {
		if owner, claimed = f.claims[k]; claimed {
			return owner, true
		}
	}
	others := [4]transcript.Key{e.Own, e.Stamp, digestKey(summaryDigests, e)}
	if !e.Boundary { // two boundaries may have the same summary and are still two
		others[3] = digestKey(boundaryDigests, e)
	}
	for _, k := range others {
		if owner, claimed = f.claims[k]; claimed && owner != mine {
			return owner, true
		}
	}
	owner, claimed = f.claims[e.Stamp]
	return owner, claimed
}

// digestKey is the claim that a compaction's summary makes, 0 for none.
func digestKey(space transcript.Key, e *transcript.Compaction) transcript.Key {
	if e.Digest == 0 {
		return 0
	}
	return transcript.Join(space, e.Digest)
}

// claimed is a compaction of the session that it happened in. news means that it was not
// known before.
type claimed struct {
	transcript.Compaction
	news bool
}

// claim claims the messages and compactions of a change, and applies its bills. own are
// the compactions that happened in the file's session.
func (f *Fleet) claim(x *file, p *past) (own []claimed) {
	for i := range p.messages {
		f.message(x, &p.messages[i], f.counts(p, p.messages[i].At))
	}
	for i := range p.compactions {
		e := &p.compactions[i]
		if mine, news := f.compaction(x, p, e); mine {
			own = append(own, claimed{*e, news})
		}
	}
	// A compaction may change its trigger when its boundary follows its summary.
	for i, n := range x.Session.Compactions {
		x.Inherited.Compactions[i] = min(x.Inherited.Compactions[i], n)
	}
	f.bill(x, p)
	return own
}

// counts reports whether records of a time in a change move counters. Those from before the
// state directory was made do not, unless they were seen being appended.
func (f *Fleet) counts(p *past, at transcript.Instant) bool {
	return !p.whole || at >= f.created || at == 0 && f.settled
}

// claimBacklog claims what a file held before Settle.
func (f *Fleet) claimBacklog(x *file) (observed alerts.ObservedCompactions) {
	observed.Agent, _ = f.agentOf(x.of)
	observed.Model = x.Session.Model
	observed.Window = f.client(&x.Session).WindowOf(&x.Session, 0, f.options.Windows).Tokens
	observed.CompactsAt = f.compactsAt(f.agentIn(x.of), &x.Session, observed.Window)
	for i := range x.backlog {
		for _, e := range f.claim(x, &x.backlog[i]) {
			if e.Trigger == transcript.Auto && e.PreTokens > 0 {
				observed.PreTokens = append(observed.PreTokens, e.PreTokens)
			}
		}
	}
	x.backlog = nil
	return observed
}

// past is what a change has that can count only once it is known which file was
// first. fresh is how many of the compactions can be new; the others never count again.
type past struct {
	messages    []transcript.Message
	compactions []transcript.Compaction
	bills       []transcript.Bill
	fresh       int
	whole       bool
}

// once returns each message of a file that was read whole a single time, with its
// last figures. A message with lines apart is listed again with its earlier figures.
func once(messages []transcript.Message) []transcript.Message {
	again := func(m transcript.Message) bool { return m.Was != transcript.Usage{} }
	if !slices.ContainsFunc(messages, again) {
		return messages
	}
	last := map[transcript.Key]transcript.Usage{}
	for _, m := range messages {
		last[m.ID] = m.Usage
	}
	single := slices.DeleteFunc(slices.Clone(messages), again)
	for i := range single {
		single[i].Usage = last[single[i].ID]
	}
	return single
}
