package fleet

import (
	"cmp"
	"time"

	"sm/alerts"
	"sm/transcript"
)

// Update has the events that result from a change or a signal.
type Update struct {
	Events []alerts.Event
	Heard  []Heard
	// Renamed agents have another id from now on; the events are under the new one.
	Renamed []Renamed
	// Observed are sizes at which clients compacted in the history of a first start.
	Observed []alerts.ObservedCompactions
}

// Heard is a text that reached an agent, by its transcript.
type Heard struct {
	Agent alerts.AgentID
	Text  string
	At    transcript.Instant
}

// Renamed merges an agent that was known only by its session into the agent that
// it turned out to be.
type Renamed struct{ From, To alerts.AgentID }

// emit adds an event to the update that is returned next.
func (f *Fleet) emit(ev alerts.Event) { f.out.Events = append(f.out.Events, ev) }

// updates returns what was collected since the last call.
func (f *Fleet) updates() Update {
	n := f.out
	f.out = Update{}
	return n
}

// Apply takes in a change of one transcript. What c points to may be used again
// afterwards. There are no events before Settle, which the caller calls when
// reading has caught up.
func (f *Fleet) Apply(c transcript.Change) (n Update) {
	defer func() { n = f.updates() }()
	if c.CaughtUp {
		return n
	}
	if c.Gone {
		f.drop(c.Cursor.Path)
		return n
	}
	old := f.files[cmp.Or(c.From, c.Cursor.Path)]
	again := old != nil && old.Session.Lines > 0
	var earlier []transcript.Session
	if again && c.Whole && c.Cut {
		earlier = []transcript.Session{dropped(old, &c)}
	}
	x, was := f.place(&c)
	if c.Whole {
		x.Earlier = earlier
	}
	f.counters.Read(&was, &x.Session)
	if c.Limits != [2]Limit{} && c.Client != Claude { // whose limits come by the status line
		f.counters.Part(c.Client).Limited(c.Limits)
	}
	f.changed.count()
	f.changed.file(c.Cursor.Path)
	p := past{
		messages:    c.Messages,
		compactions: c.Compactions,
		bills:       c.Bills,
		fresh:       x.Session.Total() - was.Total(),
		whole:       c.Whole,
	}
	if c.Whole {
		p.messages = once(c.Messages)
		x.backlog = nil
	}
	if f.settled {
		f.news(x, &was, &c, &p, again)
		return n
	}
	x.backlog = append(x.backlog, p.clone())
	if !x.sub {
		f.did(x, &c)
	}
	return n
}

// news counts the changes of a file and returns the resulting events. again means
// that the file was known before.
func (f *Fleet) news(x *file, was *transcript.Session, c *transcript.Change, p *past, again bool) {
	f.giveRecord(x)
	if c.Whole {
		x.stamped = 0
		x.ahead = 0
		x.Inherited = Inherited{}
		x.Copies = nil
		x.Known = nil
	}
	f.temper(x, c.Entries)
	counts := func(at transcript.Instant) bool { return !c.Whole || at == 0 || at >= f.created }
	mine, known := f.claim(x, p, counts)
	if x.sub {
		return
	}
	f.did(x, c)
	f.bill(x, c.Bills, counts)
	f.fileEvents(x, *was, c, mine, known, again)
	f.keepHeard(x, f.out.Heard)
	for i := range c.Entries {
		if e := &c.Entries[i]; e.Kind == transcript.KindContinued {
			f.continues(x.of, e.Text, cmp.Or(min(e.At, f.newest), f.newest))
		}
	}
}

// Settle ends the first reading: it decides for all history which file was first,
// in an order that does not depend on the order of reading. Before it there are
// no views, and nothing to store. It returns the present contexts of recently
// active agents, and the compactions of all.
func (f *Fleet) Settle(now time.Time) (n Update) {
	defer func() { n = f.updates() }()
	if f.settled {
		return n
	}
	order := f.claimOrder()
	for _, x := range order {
		f.giveRecord(x)
	}
	for _, x := range order {
		f.out.Observed = append(f.out.Observed, f.claimBacklog(x)...)
	}
	f.settled = true
	f.changed.count()
	f.holdEarly()
	f.out.Events = append(f.out.Events, f.present(now)...)
	return n
}

// smallContext is a size, in tokens, at which no client is about to compact, whatever has
// been learnt about it.
const smallContext = 40_000
