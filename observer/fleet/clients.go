package fleet

import (
	"cmp"
	"slices"
	"strings"
)

// process names a process for ever: pids come again, start times do not.
type process struct {
	pid   int
	start string
}

func (c *Client) process() process { return process{c.PID, c.ProcStart} }

func (p process) known() bool { return p.pid > 0 && p.start != "" }

// Clients takes in the client's registry as it is now. Sessions that follow each
// other in one process belong to one agent.
func (f *Fleet) Clients(cs []Client) {
	cs = slices.SortedFunc(slices.Values(cs), func(a, b Client) int {
		return cmp.Or(a.Updated.Compare(b.Updated), cmp.Compare(a.PID, b.PID), strings.Compare(a.ProcStart, b.ProcStart))
	})
	clear(f.clients)
	for _, c := range cs {
		if c.SessionID != "" {
			f.clients[c.SessionID] = c // of several processes the one that said so last
		}
	}
	for _, c := range cs {
		switch p := c.process(); {
		case !p.known(), !isUUID(c.SessionID), f.holders[p] == c.SessionID:
		case f.clients[c.SessionID].PID != c.PID:
		case f.settled:
			f.hold(p, c.SessionID)
		default: // seats are given in the order of Settle; until then it is kept who held what
			f.holders[p] = c.SessionID
			f.early = append(f.early, c)
		}
	}
}

// hold notes that a process holds a session. If it held another one before, by
// /clear or a fork, the agent of that one goes on in this. The session may be new
// and without a transcript: it gets its seat now.
func (f *Fleet) hold(p process, id string) {
	seat := f.seat(id, id)
	if old := f.seats[f.holders[p]]; old != nil {
		seat.Agent = old.Agent
		old.PID, old.ProcStart = 0, ""
		f.changed.seat(old.SessionID)
	}
	delete(f.holders, process{seat.PID, seat.ProcStart}) // one process at a time
	seat.PID, seat.ProcStart = p.pid, p.start
	f.holders[p] = id
	f.changed.seat(id)
}

// holdEarly goes through what the registry said before there were seats.
func (f *Fleet) holdEarly() {
	clear(f.holders)
	for _, c := range f.early {
		f.hold(c.process(), c.SessionID)
	}
	f.early = nil
}
