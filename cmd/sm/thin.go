package main

import (
	"time"

	"sm/alerts"
)

// thinner leaves out of a session's events those readings that change nothing that the engine decides about levels,
// cycles and storms. A reading that stands where its time says, among readings, has a newer one after it and an older
// one before: neither a cycle's first or last reading nor the current one of any later decision is it. What is then left
// to judge by it is whether it reaches a level that none before it has reached: for that the caller has a say.
type thinner struct {
	oldest []time.Time // that follows; reused
}

// each gives all events but those. They must be of one session.
func (n *thinner) each(events []alerts.Event, do func(*alerts.Event)) {
	n.mark(events, func(i int, needless bool) {
		if !needless {
			do(&events[i])
		}
	})
}

// mark says of each event whether it can be left out.
func (n *thinner) mark(events []alerts.Event, say func(i int, needless bool)) {
	n.oldest = append(n.oldest[:0], make([]time.Time, len(events)+1)...)
	timeless := false // one without a time counts as newer than all before, whatever is left out of those
	for i := len(events) - 1; i >= 0; i-- {
		n.oldest[i] = olderOf(events[i].At, n.oldest[i+1])
		timeless = timeless || events[i].At.IsZero()
	}
	newest := time.Time{}
	before := alerts.EventCompacted // the kind of the last event but turns
	for i := range events {
		ev := &events[i]
		inOrder := !timeless && !ev.At.Before(newest) && (n.oldest[i+1].IsZero() || !n.oldest[i+1].Before(ev.At))
		say(i, ev.Kind == alerts.EventReading && inOrder && before == alerts.EventReading && nextKind(events, i) == alerts.EventReading)
		if ev.At.After(newest) {
			newest = ev.At
		}
		if ev.Kind == alerts.EventReading || ev.Kind == alerts.EventCompacted {
			before = ev.Kind
		}
	}
}

// nextKind is the kind of the next event but turns, 0 for none.
func nextKind(events []alerts.Event, i int) alerts.EventKind {
	for i++; i < len(events); i++ {
		if k := events[i].Kind; k == alerts.EventReading || k == alerts.EventCompacted {
			return k
		}
	}
	return 0
}

// olderOf is the older of two times; a zero one is none.
func olderOf(a, b time.Time) time.Time {
	if b.IsZero() || !a.IsZero() && a.Before(b) {
		return a
	}
	return b
}
