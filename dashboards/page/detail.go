package page

import (
	"slices"

	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/wire"
)

// detail is the page's view of one agent, or the Problem why there is none.
type detail struct {
	*wire.Detail
	Session *api.Session
	Asked   string // the requested id
	View    string
	Server  string         // the central server of the agent, "" for this machine
	Chart   *chart         // nil without readings
	Latest  []api.Message  // the newest first
	Under   []*api.Session // the agent's children
	Events  []curve.Mark   // the newest first
	More    int            // the number of older events
}

const (
	// maxEvents and maxMessages limit the lists below the curve.
	maxEvents   = 60
	maxMessages = 20
)

func (p *renderer) detailOf(d *wire.Detail) detail {
	more := max(0, len(d.History.Marks)-maxEvents)
	return detail{
		Detail:  d,
		Session: &d.Session,
		Chart:   chartOf(&d.Session, &d.History, p.zone),
		Latest:  newestFirst(d.Messages[max(0, len(d.Messages)-maxMessages):]),
		Events:  newestFirst(d.History.Marks[more:]),
		More:    more,
	}
}

func newestFirst[T any](all []T) []T {
	all = slices.Clone(all)
	slices.Reverse(all)
	return all
}
