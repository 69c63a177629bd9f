package fleet

import (
	"slices"
	"time"

	"sm/alerts"
	"sm/transcript"
)

// Namespaces of joined keys. They are stored: never renumber them.
const (
	boundaryDigests transcript.Key = 1 + iota
	summaryDigests
	subagentsOwner
)

// owner returns the key under which a file claims. Claims of subagents' files
// belong to the session too, but under another key: some of these files repeat
// the messages of the session's own file, where the messages count.
func (x *file) owner() transcript.Key {
	if x.sub {
		return transcript.Join(x.of.owner, subagentsOwner)
	}
	return x.of.owner
}

// message claims a message for its session, or adds it to the inherited ones if
// it is a copy.
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
		if first { // read again, or in another copy of the same file
			x.Known = append(slices.Clone(x.Known[max(0, len(x.Known)+1-maxKnown):]), m.ID)
		}
		if slices.Contains(x.Known, m.ID) {
			return
		}
	case !x.sub && owner == transcript.Join(mine, subagentsOwner):
		return // counted in a subagent's file, which was read first
	default:
		addMessage(&x.Inherited, m, first)
		return
	}
	if counts {
		f.counters.Spend(m, f.client(&x.Session).Client)
	}
	if counts || m.At != 0 { // today's history is part of the day in any case
		f.spend(x, m)
	}
}

// maxKnown is how many counted messages a file remembers: the lines of one
// message are adjacent, so that only the newest messages can still grow.
const maxKnown = 8

// addMessage adds the usage of a message that was not counted before.
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

// compaction claims a compaction for its session, or finds it to be a copy. own
// reports whether it happened in the session, fresh whether it was unknown
// before.
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
		// It happened and counts in another session. A later record may have
		// the trigger of a compaction whose trigger was unknown.
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

// decide counts a compaction whose trigger was undecided so far.
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

// undecidedFor is how long a compaction waits for the record that decides its
// trigger. The client writes the notice of an idle compaction within a second.
const undecidedFor = transcript.Instant(5 * time.Second)

// Decide counts the compactions that are still undecided after undecidedFor. It
// reports whether there were any.
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

// compactionOwner returns the session of a compaction: by its own key, or the
// key of its earlier event, else by any of its keys that another session has
// claimed. Within a session a digest does not decide, as short summaries
// repeat.
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
	if !e.Boundary { // two boundaries with the same summary are distinct
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

// digestKey returns the key of a compaction's summary, 0 for none.
func digestKey(space transcript.Key, e *transcript.Compaction) transcript.Key {
	if e.Digest == 0 {
		return 0
	}
	return transcript.Join(space, e.Digest)
}

// claimed is a compaction that happened in the session. fresh means that it was
// unknown before.
type claimed struct {
	transcript.Compaction
	fresh bool
}

// claim claims the messages and compactions of a change, and applies its bills.
// It returns the compactions that happened in the file's session.
func (f *Fleet) claim(x *file, p *past) (own []claimed) {
	for i := range p.messages {
		f.message(x, &p.messages[i], f.counts(p, p.messages[i].At))
	}
	for i := range p.compactions {
		e := &p.compactions[i]
		if mine, fresh := f.compaction(x, p, e); mine {
			own = append(own, claimed{*e, fresh})
		}
	}
	// A compaction may change its trigger when its boundary follows its summary.
	for i, n := range x.Session.Compactions {
		x.Inherited.Compactions[i] = min(x.Inherited.Compactions[i], n)
	}
	f.bill(x, p)
	return own
}

// counts reports whether records of a time in a change are counted. Records
// from before the creation of the state directory count only if they were
// appended while the file was followed.
func (f *Fleet) counts(p *past, at transcript.Instant) bool {
	return !p.whole || at >= f.created || at == 0 && f.settled
}

// claimBacklog claims the messages and compactions that were read before
// Settle. It returns the sizes at which automatic compactions happened.
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

// past is the part of a change that can only be counted once it is known which
// file was first. fresh is how many of the compactions can be new; the others
// are counted already.
type past struct {
	messages    []transcript.Message
	compactions []transcript.Compaction
	bills       []transcript.Bill
	fresh       int
	whole       bool
}

// once returns each message of a file that was read whole a single time, with
// its final usage. Messages whose lines are not adjacent are listed again with
// their earlier usage.
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
