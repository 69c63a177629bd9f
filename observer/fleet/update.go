package fleet

import (
	"sm/alerts"
	"sm/transcript"
)

// Update is what follows from something that the fleet was told.
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

// Renamed says that an agent that was known by its session alone has turned out to be
// another.
type Renamed struct{ From, To alerts.AgentID }

func (n *Update) add(m Update) {
	n.Events = append(n.Events, m.Events...)
	n.Heard = append(n.Heard, m.Heard...)
	n.Renamed = append(n.Renamed, m.Renamed...)
	n.Observed = append(n.Observed, m.Observed...)
}

func (n *Update) event(ev alerts.Event) { n.Events = append(n.Events, ev) }
