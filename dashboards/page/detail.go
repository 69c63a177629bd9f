package page

import (
	"slices"

	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/wire"
)

// detail is all that the page shows of one agent, or of none where it has a Problem.
type detail struct {
	*wire.Detail
	Session *api.Session
	Asked   string // the id
	View    string
	Server  string         // the central server that has the agent, "" for this machine
	Chart   *chart         // nil without readings
	Latest  []api.Message  // the newest first
	Under   []*api.Session // agents that work for this one
	Events  []curve.Mark   // the newest first
	More    int            // older ones
}

const (
	// maxEvents and maxMessages limit the lists below the curve.
	maxEvents   = 60
	maxMessages = 20
)

func (p *renderer) detailOf(d *wire.Detail) detail {
	v := detail{Detail: d, Session: &d.Session}
	if d.Problem != "" {
		return v
	}
	v.Chart = chartOf(&d.Session, &d.History, p.zone)
	v.Latest = slices.Clone(d.Messages[max(0, len(d.Messages)-maxMessages):])
	slices.Reverse(v.Latest)
	v.More = max(0, len(d.History.Marks)-maxEvents)
	v.Events = slices.Clone(d.History.Marks[v.More:])
	slices.Reverse(v.Events)
	return v
}
