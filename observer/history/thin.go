package history

import (
	"time"

	"sm/alerts"
)

// Thinner leaves out of a session's events the readings that change nothing that the engine decides about levels,
// cycles and storms. A reading can be left out where it and the readings before and after it are in the order of their
// times: then it is neither the first nor the last reading of a cycle, nor the current one of a later decision. It still
// matters if it reaches a level that no reading before it has reached: that the caller decides.
type Thinner struct {
	oldest  []time.Time // of the events from here on; reused
	inOrder []bool      // nothing before is newer, nothing behind is older; reused
}

// Each gives all events but those. They must be of one session.
func (n *Thinner) Each(events []alerts.Event, do func(*alerts.Event)) {
	n.Mark(events, func(i int, needless bool) {
		if !needless {
			do(&events[i])
		}
	})
}

// Mark says of each event whether it can be left out.
func (n *Thinner) Mark(events []alerts.Event, say func(i int, needless bool)) {
	n.sort(events)
	before := false // the last event but turns is a reading in its order
	for i := range events {
		ev := &events[i]
		say(i, before && n.among(events, i))
		if Bears(ev) {
			before = ev.Kind == alerts.EventReading && n.inOrder[i]
		}
	}
}

// sort finds the events that are in their order. None is where some have no time: those count as newer than all before,
// whatever is left out of these.
func (n *Thinner) sort(events []alerts.Event) {
	n.oldest = append(n.oldest[:0], make([]time.Time, len(events)+1)...)
	n.inOrder = append(n.inOrder[:0], make([]bool, len(events))...)
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].At.IsZero() {
			return
		}
		if n.oldest[i] = n.oldest[i+1]; n.oldest[i].IsZero() ||
			events[i].At.Before(n.oldest[i]) {
			n.oldest[i] = events[i].At
		}
	}
	newest := time.Time{}
	for i := range events {
		at := events[i].At
		n.inOrder[i] = !at.Before(newest) && (i+1 == len(events) || !n.oldest[i+1].Before(at))
		if at.After(newest) {
			newest = at
		}
	}
}

// among reports whether an event and the next are readings in order.
func (n *Thinner) among(events []alerts.Event, i int) bool {
	if events[i].Kind != alerts.EventReading || !n.inOrder[i] {
		return false
	}
	for i++; i < len(events); i++ {
		if Bears(&events[i]) {
			return events[i].Kind == alerts.EventReading && n.inOrder[i]
		}
	}
	return false
}

// Bears reports whether an event affects levels and cycles: turns do not.
func Bears(ev *alerts.Event) bool {
	return ev.Kind == alerts.EventReading || ev.Kind == alerts.EventCompacted ||
		ev.Kind == alerts.EventReset
}
