package fleet

import "sm/transcript"

// temper mends the stamps of new records of a file that lie ahead of the clock, or ahead
// of records that were written after them: they count as written now, or just before
// those. One far behind what was written before it, as after the clock was set back,
// counts as written now, too. Else one such stamp would make all that follows look old.
func (b *basis) temper(x *file, entries []transcript.Entry) {
	latest := b.newest
	if latest == 0 {
		return // nobody has told the time
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
		case e.At+skew < x.told:
			e.At = b.newest
			x.more().ahead = max(x.also().ahead, e.At)
		case e.At < x.also().ahead && x.also().ahead-e.At <= skew:
			e.At = x.also().ahead // what was told before it stays before it
		}
		x.told = e.At
	}
}
