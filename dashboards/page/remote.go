package page

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"sm/dashboards/central"
	"sm/observer/api"
	"sm/observer/wire"
)

// Server is a configured central server. Requests refer to servers by name, so
// that they cannot make the observer query other addresses.
type Server struct {
	Name            string `yaml:"name" is:"server" unique:"true"`
	central.Options `yaml:",inline"`
}

// parameter is the URL parameter that chooses a view.
const parameter = "prometheus"

// answerWait limits how long a page waits for the first answer of a central
// server. Afterwards it is drawn without the answer.
const answerWait = 500 * time.Millisecond

// remote is a central server as the source of a page. If a query fails, the
// page shows the answer of an earlier one.
type remote struct {
	server *central.Server
	edits  atomic.Uint64

	mu     sync.Mutex
	asking bool
	over   chan struct{} // closed when the newest query is over
	lastAnswer
}

type lastAnswer struct {
	fleet central.Fleet
	ended time.Time // when the last query ended; zero before the first one has
	gone  time.Time // when the first failed query began; zero if the last one succeeded
	why   string    // the error of the last query
}

// forget drops the last answer.
func (r *remote) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastAnswer = lastAnswer{}
	r.edits.Add(1)
}

func (r *remote) ask(ctx context.Context) {
	began := time.Now()
	fleet, err := r.server.Look(ctx)

	r.mu.Lock()
	defer r.mu.Unlock()
	defer close(r.over)
	r.asking = false
	if err == nil {
		r.lastAnswer = lastAnswer{fleet: fleet}
	} else {
		r.why = err.Error()
		r.gone = cmp.Or(r.gone, began)
	}
	r.ended = time.Now()
	r.edits.Add(1)
}

// refresh starts a query, unless one is running, the last one is recent, or
// closed is done. When closed is done a running query ends. Before the first
// answer it waits for the query, at most for answerWait.
func (r *remote) refresh(ctx, closed context.Context) {
	r.mu.Lock()
	if !r.asking && time.Since(r.ended) >= pageAtLeast && closed.Err() == nil {
		r.over = make(chan struct{})
		r.asking = true
		go r.ask(closed)
	}
	ended := r.ended
	over := r.over
	r.mu.Unlock()
	if !ended.IsZero() {
		return
	}
	select {
	case <-over:
	case <-ctx.Done():
	case <-time.After(answerWait):
	}
}

// Edits returns a number that grows with each answer.
func (r *remote) Edits() uint64 { return r.edits.Load() }

// List returns the last answer without querying the server.
func (r *remote) List(
	context.Context,
	time.Time,
	func(string) (uint32, bool),
) (l wire.List, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.fleet.Sessions.Sessions
	all = all[:min(len(all), api.MaxListed)]

	l.Head = r.fleet.Sessions
	l.Head.Others = len(r.fleet.Sessions.Sessions) - len(all)
	l.Filled = true
	for _, s := range all {
		l.Agents = append(l.Agents, wire.Agent{Session: s, History: r.fleet.Curves[s.ID]})
	}
	return l, nil
}

// Detail returns an agent of the last answer.
func (r *remote) Detail(
	_ context.Context,
	id string,
	_ time.Time,
) (wire.Detail, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.fleet.Sessions.Sessions {
		if s.ID == id {
			return wire.Detail{Session: s, History: *r.fleet.Curves[id]}, nil
		}
	}
	return wire.Detail{Problem: "No such agent"}, nil
}
