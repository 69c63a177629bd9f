package fleet

import (
	"cmp"
	"time"

	"sm/transcript"
)

// Apply takes in news of one transcript. What c points to may be used again
// afterwards. That reading has caught up is for the caller to know: then is the
// time to call Settle; until then there is no news.
func (f *Fleet) Apply(c transcript.Change) (n Update) {
	if c.CaughtUp {
		return n
	}
	if c.Gone {
		f.drop(c.Cursor.Path)
		return n
	}
	old := f.files[cmp.Or(c.From, c.Cursor.Path)]
	again := old != nil && old.Session.Lines > 0
	x, was := f.place(&c)
	f.counters.read(&was, &x.Session)
	f.changed.count()
	f.changed.file(c.Cursor.Path)
	fresh := x.Session.Total() - was.Total()
	if !f.settled {
		if x.past == nil || c.Whole {
			x.past = &past{}
		}
		if c.Whole {
			x.past.begin(&c, f.created)
		} else {
			x.past.grow(&c, fresh)
		}
		return n
	}
	f.giveRecord(x)
	if c.Whole {
		x.told = 0
		if x.extra != nil {
			*x.extra = extra{Key: x.extra.Key}
		}
		c.Messages = once(c.Messages)
	}
	f.temper(x, c.Entries)
	for i := range c.Messages {
		f.message(x, &c.Messages[i], f.counts(c.Whole, c.Messages[i].At))
	}
	var mine, known []transcript.Compaction
	for i := range c.Compactions {
		switch own, isNew := f.compaction(x, &c.Compactions[i], &fresh, f.counts(c.Whole, c.Compactions[i].At)); {
		case isNew:
			mine = append(mine, c.Compactions[i])
		case own:
			known = append(known, c.Compactions[i])
		}
	}
	x.clamp()
	if x.sub {
		return n
	}
	return f.tell(x, was, &c, mine, known, again)
}

// Settle ends the first reading: of all history found, who was first is decided
// now, in an order that does not depend on how the files were found. Until then
// there are no views, and nothing to store. Of those at work lately it tells the
// present context, and of all where their clients compacted.
func (f *Fleet) Settle(now time.Time) (n Update) {
	if f.settled {
		return n
	}
	order := f.claimOrder()
	count := 0
	for _, x := range order {
		f.giveRecord(x)
		count += len(x.past.messages)
	}
	f.messages, f.changed.messages = make(map[transcript.Key]transcript.Key, count), make([]Claim, 0, count)
	for _, x := range order {
		n.Observed = append(n.Observed, f.recall(x)...)
	}
	f.settled = true
	f.changed.settle()
	f.changed.count()
	n.add(f.holdEarly())
	n.Events = append(n.Events, f.present(now)...)
	return n
}

// smallContext is a size, in tokens, at which no client is about to compact, whatever has
// been learnt about it.
const smallContext = 40_000
