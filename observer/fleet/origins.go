package fleet

import (
	"slices"
	"time"

	"sm/alerts"
	"sm/observer/fleet/backlog"
	"sm/transcript"
)

// Name spaces of joined keys. They are stored: never renumber them.
const (
	boundaryDigests transcript.Key = 1 + iota
	summaryDigests
	subagentsOwner
)

// owner is the key under which a file claims. What subagents' files claim belongs
// to the session too, but they stand apart: some of them repeat the messages of
// the session's own file, and those count there alone.
func (x *file) owner() transcript.Key {
	if x.sub {
		return transcript.Join(x.of.owner, subagentsOwner)
	}
	return x.of.owner
}

// message claims a message for its session, or finds it to be a copy.
func (o *origins) message(x *file, m *transcript.Message, counts bool) {
	mine := x.owner()
	owner, claimed := o.messages.Of(m.ID)
	if !claimed && o.options.Ledger != nil {
		owner, claimed = o.options.Ledger.Owner(m.ID)
	}
	first := m.Was == (transcript.Usage{})
	switch {
	case !claimed:
		o.messages.Put(m.ID, mine)
		o.changed.messages = append(o.changed.messages, Claim{Key: m.ID, Owner: mine})
	case owner == mine:
		if first { // known: read again, or in another copy of the same file
			x.know(m.ID)
		}
		if slices.Contains(x.also().Known, m.ID) {
			return
		}
	case !x.sub && owner == transcript.Join(mine, subagentsOwner):
		return // a subagent's file was read sooner; it has counted there
	default:
		x.more().Inherited.message(m, first)
		return
	}
	if counts {
		o.counters.Spend(m.Usage.Minus(m.Was), o.client(&x.Session).Client)
	}
	if counts || m.At != 0 { // the history of today is part of the day, whatever counts
		o.counters.SpentToday(m)
		o.changed.count()
	}
}

// knownMost is how many messages a file remembers as counted before: the lines of
// one message stand together, so that only the newest can still grow.
const knownMost = 8

func (x *file) know(message transcript.Key) {
	e := x.more()
	if len(e.Known) == knownMost {
		e.Known = slices.Clone(e.Known[1:]) // what is being stored keeps the other one
	}
	e.Known = append(e.Known, message)
}

func (in *Inherited) message(m *transcript.Message, first bool) {
	n := &in.Messages
	sum := &in.Tokens
	if m.Side {
		n = &in.SideMessages
		sum = &in.SideTokens
	}
	if first {
		*n++
	}
	*sum = sum.Plus(m.Usage.Minus(m.Was))
}

// clamp keeps what was inherited within what there is: a compaction may change its
// trigger when its boundary arrives after its summary.
func (x *file) clamp() {
	if x.extra == nil {
		return
	}
	in := &x.extra.Inherited
	for i := range in.Compactions {
		in.Compactions[i] = min(in.Compactions[i], x.Session.Compactions[i])
	}
}

// compaction claims a compaction for its session, or finds it to be a copy. It says
// whether it is the session's own, and whether that is new: of an old one more has become
// known. Room is how many of a change's compactions can be new; the others never count
// again.
func (o *origins) compaction(x *file, e *transcript.Compaction, room *int, counts bool) (own, fresh bool) {
	if x.sub {
		return false, false
	}
	mine := x.of.owner
	owner, claimed := o.compactionOwner(e, mine)
	if !claimed {
		owner = mine
	}
	o.register(e, owner)
	switch {
	case owner != mine:
		x.inherit(e)
	case !claimed && *room > 0:
		*room--
		fresh = true
		switch {
		case !counts:
		case e.Undecided:
			x.more().Undecided = append(slices.Clone(x.more().Undecided), *e)
			o.undecided[x] = o.newest
		default:
			o.count(x, e)
		}
	case !e.Undecided:
		o.decide(x, e)
	}
	return owner == mine, fresh
}

// inherit counts a compaction that happened in another session, under its trigger. A
// later record may name the trigger of one that was unknown.
func (x *file) inherit(e *transcript.Compaction) {
	more := x.more()
	in := &more.Inherited.Compactions
	switch {
	case !slices.Contains(more.Copies, e.Key):
		more.Copies = append(more.Copies, e.Key)
		in[e.Trigger]++
	case in[transcript.Unknown] > x.Session.Compactions[transcript.Unknown]:
		in[transcript.Unknown]--
		in[e.Trigger]++
	}
}

// count adds a compaction to the counters.
func (o *origins) count(x *file, e *transcript.Compaction) {
	o.counters.Compacted(e, o.client(&x.Session).Client)
	o.changed.count()
	x.of.record.Counted[e.Trigger]++
	o.changed.record(x.of.key)
	if a := o.agents[x.of.record.Agent]; a != nil {
		a.Counted[e.Trigger]++
		o.changed.agent(a.ID)
	}
}

// decide counts a compaction whose trigger was undecided until now.
func (o *origins) decide(x *file, e *transcript.Compaction) {
	i := slices.IndexFunc(x.also().Undecided, func(u transcript.Compaction) bool { return u.Key == e.Key })
	if i < 0 {
		return
	}
	o.count(x, e)
	x.extra.Undecided = slices.Delete(slices.Clone(x.extra.Undecided), i, i+1)
	if len(x.extra.Undecided) == 0 {
		delete(o.undecided, x)
	}
}

// undecidedFor is how long a compaction waits for a record that decides its
// trigger. The client writes the notice of an idle compaction within a second.
const undecidedFor = transcript.Instant(5 * time.Second)

// Decide counts the compactions that no record has decided within undecidedFor.
// It reports whether there were any.
func (o *origins) Decide(now time.Time) (counted bool) {
	at := transcript.InstantOf(now)
	for x, since := range o.undecided {
		if at-since < undecidedFor {
			continue
		}
		for i := range x.also().Undecided {
			o.count(x, &x.extra.Undecided[i])
		}
		x.extra.Undecided = nil
		delete(o.undecided, x)
		o.changed.file(x.Cursor.Path)
		counted = true
	}
	return counted
}

// compactionOwner returns the session of a compaction: by its own key, or the key
// of its earlier event, else by any of its keys that another session has. Within a
// session a digest does not decide, as short summaries repeat.
func (o *origins) compactionOwner(e *transcript.Compaction, mine transcript.Key) (owner transcript.Key, claimed bool) {
	if owner, claimed = o.claims[e.Key]; claimed {
		return owner, true
	}
	if e.Was != 0 { // its summary came first and had an event of its own
		if owner, claimed = o.claims[e.Was]; claimed {
			return owner, true
		}
	}
	others := [4]transcript.Key{e.Own, e.Stamp, digestKey(summaryDigests, e)}
	if !e.Boundary { // two boundaries may have the same summary and are still two
		others[3] = digestKey(boundaryDigests, e)
	}
	for _, k := range others {
		if owner, claimed = o.claims[k]; claimed && owner != mine {
			return owner, true
		}
	}
	owner, claimed = o.claims[e.Stamp]
	return owner, claimed
}

// register claims the unclaimed keys of a compaction, so that a copy of a copy is
// recognized too.
func (o *origins) register(e *transcript.Compaction, owner transcript.Key) {
	space := summaryDigests
	if e.Boundary {
		space = boundaryDigests
	}
	for _, k := range [4]transcript.Key{e.Key, e.Own, e.Stamp, digestKey(space, e)} {
		if _, claimed := o.claims[k]; !claimed && k != 0 {
			o.claims[k] = owner
			o.changed.claims = append(o.changed.claims, Claim{Key: k, Owner: owner})
		}
	}
}

// digestKey is the claim that a compaction's summary makes, 0 for none.
func digestKey(space transcript.Key, e *transcript.Compaction) transcript.Key {
	if e.Digest == 0 {
		return 0
	}
	return transcript.Join(space, e.Digest)
}

// origins finds in which session a message or a compaction first happened. It counts there alone.
type origins struct {
	*roster
	gauge    *gauge
	claims   map[transcript.Key]transcript.Key // of compactions: whose
	messages backlog.Owners                    // of those that the Ledger does not know yet
	// undecided are the files with undecided compactions, and since when.
	undecided map[*file]transcript.Instant
}

// settle claims what files held, in their order, and calls done after each of them with its bills.
func (o *origins) settle(
	order []*file,
	done func(x *file, bills []transcript.Bill),
) (observed []alerts.ObservedCompactions) {
	history := make([]*backlog.Backlog, len(order))
	for i, x := range order {
		history[i] = x.backlog
	}
	o.changed.messages = make([]Claim, 0, o.messages.Expect(history))
	for _, x := range order {
		list := x.backlog.Bills
		observed = append(observed, o.recall(x)...)
		done(x, list)
	}
	o.messages.Settle(o.changed.messages)
	return observed
}

// recall claims what a file held and frees it.
func (o *origins) recall(x *file) (observed []alerts.ObservedCompactions) {
	b := x.backlog
	x.backlog = nil
	for i := range b.Messages {
		m, counts := b.Message(i)
		o.message(x, &m, counts)
	}
	room := len(b.Compactions)
	id, _ := o.agentOf(x.of)
	seen := alerts.ObservedCompactions{
		Agent:  alerts.AgentID(id),
		Model:  x.Session.Model,
		Window: o.client(&x.Session).WindowOf(&x.Session, 0, o.options.Windows).Tokens,
	}
	seen.CompactsAt = o.gauge.compactsAt(o.currentAgent(x.of), &x.Session, seen.Window)
	learn := func(e *transcript.Compaction, room *int, counts bool) {
		own, _ := o.compaction(x, e, room, counts)
		if own && e.Trigger == transcript.Auto && e.PreTokens > 0 {
			observed = append(observed, seen)
			observed[len(observed)-1].PreTokens = []int64{e.PreTokens}
		}
	}
	for i := range b.Compactions {
		c := &b.Compactions[i]
		learn(&c.Compaction, &room, c.Counts)
	}
	for i := range b.Later {
		l := &b.Later[i]
		for j := range l.Messages {
			o.message(x, &l.Messages[j], true)
		}
		for j := range l.Compactions {
			learn(&l.Compactions[j], &l.Fresh, true)
		}
	}
	x.clamp()
	return observed
}
