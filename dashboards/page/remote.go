package page

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sm/dashboards/central"
	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/respond"
	"sm/observer/wire"
)

// Server is a configured central server. A request can only name one of these, so that
// it cannot make the observer query other addresses.
type Server struct {
	Name string
	central.Options
}

// parameter is the part of an address that chooses a view.
const parameter = "prometheus"

// Check validates servers.
func Check(servers []Server) error {
	for _, s := range servers {
		if _, err := central.New(s.Options); err != nil {
			return fmt.Errorf("prometheus %s: %w", s.Name, err)
		}
	}
	return nil
}

// addViews makes a hub for each server.
func (h *Hub) addViews() error {
	for _, s := range h.o.Servers {
		server, err := central.New(s.Options)
		if err != nil {
			return fmt.Errorf("prometheus %s: %w", s.Name, err)
		}
		o := h.o
		r := &remote{server: server, asked: make(chan struct{})}
		o.Source = r
		v := prepare(o, h.page, h.open, h.limits)
		v.view = s.Name
		v.remote = r
		h.views = append(h.views, v)
	}
	if len(h.views) == 0 {
		return nil
	}
	h.links = []string{""}
	for _, v := range h.views {
		h.links = append(h.links, v.view)
	}
	for _, v := range h.views {
		v.links = h.links
	}
	return nil
}

// of is the hub of the view that an address chooses: a server by its name, or the first one by 1.
func (h *Hub) of(r *http.Request) (*Hub, error) {
	query := r.URL.Query()
	if !query.Has(parameter) {
		return h, nil
	}
	name := query.Get(parameter)
	for i, v := range h.views {
		if v.view == name || i == 0 && name == "1" {
			return v, nil
		}
	}
	return nil, respond.Refuse(
		http.StatusNotFound,
		"no server has this name; see prometheus in the configuration",
	)
}

// answerWait is how long a page waits for the first answer of a central server.
// It is then drawn without.
const answerWait = 500 * time.Millisecond

// remote is a central server as the source of a page. While the server does not
// answer, the page shows its last answer.
type remote struct {
	server *central.Server
	edits  atomic.Uint64

	mu    sync.Mutex
	asked chan struct{} // closed when the first look has succeeded or failed
	lastAnswer
}

type lastAnswer struct {
	fleet central.Fleet
	gone  time.Time // since when there is no newer one; zero while there is
	why   string
}

// poll asks the server every pageAtLeast until ctx ends, then forgets its answers.
func (r *remote) poll(ctx context.Context) {
	defer r.forget()
	for {
		r.ask(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pageAtLeast):
		}
	}
}

func (r *remote) ask(ctx context.Context) {
	began := time.Now()
	fleet, err := r.server.Look(ctx)
	if errors.Is(err, context.Canceled) {
		return
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.lastAnswer = lastAnswer{fleet: fleet}
	} else {
		r.why = err.Error()
		if r.gone.IsZero() {
			r.gone = began
		}
	}
	r.edits.Add(1)
	if !r.answered() {
		close(r.asked)
	}
}

func (r *remote) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = make(chan struct{})
	r.lastAnswer = lastAnswer{}
	r.edits.Add(1)
}

// answered reports whether the first query is over. The caller holds mu.
func (r *remote) answered() bool {
	select {
	case <-r.asked:
		return true
	default:
		return false
	}
}

// wait returns once the first look is over, at the latest after answerWait.
func (r *remote) wait(ctx context.Context) {
	r.mu.Lock()
	asked := r.asked
	r.mu.Unlock()
	select {
	case <-asked:
	case <-ctx.Done():
	case <-time.After(answerWait):
	}
}

// Edits grows with each answer.
func (r *remote) Edits() uint64 { return r.edits.Load() }

// List returns the last answer; it does not ask the server.
func (r *remote) List(
	_ context.Context,
	_ time.Time,
	known func(string) (uint32, bool),
) (l wire.List, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.fleet.Sessions.Sessions
	all = all[:min(len(all), api.MaxListed)]

	l.Head = r.fleet.Sessions
	l.Head.Others = len(r.fleet.Sessions.Sessions) - len(all)
	l.Filled = true
	for _, s := range all {
		x := wire.Agent{Session: s}
		history := historyOf(r.fleet.Curves[s.ID], s.WindowTokens)
		x.Version = versionOf(history)
		if version, ok := known(s.ID); !ok || version != x.Version {
			x.History = history
		}
		l.Agents = append(l.Agents, x)
	}
	return l, nil
}

// describe adds the server, and why it does not answer.
func (r *remote) describe(d *head) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d.Server = tame(r.server.Name())
	d.Problem = tame(r.why)
	d.Unanswered = !r.answered()
	if !r.gone.IsZero() {
		d.Since = r.gone.Unix()
	}
}

// historyOf is what is known of a context's past, without what happened to it.
func historyOf(points []central.Point, window int64) *curve.History {
	h := &curve.History{}
	for _, p := range points {
		h.Points = append(h.Points, curve.Point{
			At:     p.At.Unix(),
			Tokens: int64(p.Value * float64(window)),
		})
	}
	return h
}

// versionOf changes with a history.
func versionOf(h *curve.History) uint32 {
	sum := fnv.New32a()
	_, _ = fmt.Fprint(sum, h.Points) // never fails
	return sum.Sum32()
}

// Detail returns an agent of the last answer.
func (r *remote) Detail(
	_ context.Context,
	id string,
	_ time.Time,
) (d wire.Detail, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.fleet.Sessions.Sessions
	i := slices.IndexFunc(all, func(s api.Session) bool { return s.ID == id })
	if i < 0 {
		d.Problem = "No such agent"
		return d, nil
	}
	d.Session = all[i]
	d.History = *historyOf(r.fleet.Curves[id], d.WindowTokens)
	return d, nil
}
