package pages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sm/dashboards/central"
	webpage "sm/dashboards/page"
	"sm/observer/api"
	"sm/observer/curve"
)

// Server is a configured central server. A request can only name one of these, so that
// it cannot make the observer query other addresses.
type Server struct {
	Name string
	central.Options
}

// ErrNoServer answers a name that no server has.
var ErrNoServer = errors.New("no server has this name; see prometheus in the configuration")

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
		r := &remote{view: s.Name, server: server, asked: make(chan struct{})}
		o.Source, o.Projects, o.Demo = r, nil, false
		v := prepare(o, h.page, h.open, h.limits)
		v.view, v.remote = s.Name, r
		h.views = append(h.views, v)
	}
	if len(h.views) == 0 {
		return nil
	}
	h.links = []webpage.Link{{}}
	for _, v := range h.views {
		h.links = append(h.links, webpage.Link{Name: v.view})
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
	return nil, ErrNoServer
}

// answerWait is how long a page waits for the first answer of a central server.
// It is then drawn without.
const answerWait = 500 * time.Millisecond

// remote is a central server as the source of a page. While the server does not
// answer, the page shows its last answer.
type remote struct {
	view   string
	server *central.Server
	edits  atomic.Uint64

	mu    sync.Mutex
	asked chan struct{} // closed when the first look has succeeded or failed
	fleet central.Fleet
	gone  time.Time // since when there is no answer; zero while there is one
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
	switch {
	case err == nil:
		r.fleet, r.gone, r.why = fleet, time.Time{}, ""
	case r.gone.IsZero():
		r.gone, r.why = began, err.Error()
	default:
		r.why = err.Error()
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
	r.fleet, r.gone, r.why = central.Fleet{}, time.Time{}, ""
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

// List draws the last answer; it does not ask the server.
func (r *remote) List(_ context.Context, _ time.Time, known func(string) (uint32, bool)) (l List, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.Head = webpage.Head{Server: r.server.Name(), Hosts: r.fleet.Hosts, Down: r.fleet.Down, Unanswered: !r.answered(), Problem: r.why}
	if !r.gone.IsZero() {
		l.Head.Since = r.gone.Unix()
	}
	all := r.fleet.Sessions.Sessions
	if len(all) > MaxAgents {
		all = slices.SortedStableFunc(slices.Values(all), freshest)
	}
	for i := range all[:min(len(all), MaxAgents)] {
		s := &all[i]
		x := Agent{Row: r.row(s)}
		history := historyOf(r.fleet.Curves[s.ID], s.WindowTokens)
		x.Version = versionOf(history)
		if version, ok := known(s.ID); !ok || version != x.Version {
			x.History = history
		}
		l.Head.Count(&x.Row)
		l.Agents = append(l.Agents, x)
	}
	l.Head.Hidden = len(all) - len(l.Agents)
	return l, nil
}

// freshest puts first who waits for a person, then who was at work last.
func freshest(a, b api.Session) int {
	order := func(s *api.Session) int64 {
		switch {
		case s.State == "waiting":
			return math.MaxInt64
		case s.LastActive == nil:
			return 0
		}
		return s.LastActive.Unix()
	}
	return cmp.Compare(order(&b), order(&a))
}

// row is an agent as the list takes it.
func (r *remote) row(s *api.Session) webpage.Row {
	row := webpage.Row{
		ID: s.ID, Name: s.Label, Host: s.Host, View: r.view, Client: s.Client, Project: s.Project, Model: s.Model, Pressure: s.PressureLevel, Source: s.ThresholdSource,
		Window: s.WindowTokens, Compactions: [4]int{s.Compactions.Auto, s.Compactions.Manual, s.Compactions.Unknown, s.Compactions.Idle},
		State: s.State, Compacting: s.IsCompacting, Check: s.CrossCheck,
	}
	if s.Pressure != nil {
		row.Ratio = *s.Pressure
	}
	if s.TokensUsed != nil && s.UsedPercentage != nil {
		row.Tokens, row.Percent = *s.TokensUsed, *s.UsedPercentage
	}
	if s.ThresholdTokens != nil {
		row.Threshold = *s.ThresholdTokens
	}
	if s.DriftTokens != nil {
		row.Drift = *s.DriftTokens
	}
	if s.LastActive != nil {
		row.Seen = s.LastActive.Unix()
	}
	if f := s.Forecast; f != nil {
		row.Replies, row.Turns, row.Work = rangeOf(f.Replies), rangeOf(f.Turns), rangeOf(f.Seconds)
	}
	return row
}

func rangeOf(r *api.Range) webpage.Range {
	if r == nil {
		return webpage.Range{}
	}
	return webpage.Range{Low: r.Low, Likely: r.Likely, High: r.High, Known: true}
}

// historyOf is what is known of a context's past, without what happened to it.
func historyOf(points []central.Point, window int64) *webpage.History {
	h := &webpage.History{}
	for _, p := range points {
		h.Points = append(h.Points, webpage.Point{At: p.At.Unix(), Tokens: int64(p.Share * float64(window))})
	}
	return h
}

// versionOf changes with a history.
func versionOf(h *webpage.History) uint32 {
	sum := fnv.New32a()
	_, _ = fmt.Fprint(sum, h.Points) // never fails
	return sum.Sum32()
}

func (r *remote) Detail(_ context.Context, id string, _ time.Time) (d Detail, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.fleet.Sessions.Sessions
	i := slices.IndexFunc(all, func(s api.Session) bool { return s.ID == id })
	if i < 0 {
		d.Problem, d.Row.View = "No such agent", r.view
		return d, nil
	}
	s := &all[i]
	d.Row, d.History = r.row(s), *historyOf(r.fleet.Curves[id], s.WindowTokens)
	f := facts{
		{Name: "Host", Value: s.Host, Copy: true}, {Name: "Session", Value: s.SessionID, Copy: true}, {Name: "Model", Value: s.Model}, {Name: "Client", Value: s.Version},
		{Name: "Known by", Value: r.server.Name() + "; all else is on its host, in sm status and on the page there"},
	}
	if s.WindowTokens > 0 {
		f.add("Window", webpage.Short(s.WindowTokens))
	}
	if s.Cycle > 0 {
		f.add("Cycle", fmt.Sprint(s.Cycle))
	}
	f.add("Queued", queuedText(s.Queued))
	f.addCost(s)
	d.Facts = append(f, webpage.Fact{Name: "Last activity", At: max(0, d.Row.Seen)})
	if id := cmp.Or(s.SessionID, s.Label); !strings.HasPrefix(id, "-") { // it would be taken for a flag
		d.Commands = []webpage.Command{{Does: "all about it, on its host", Text: "sm status " + webpage.Quote(id)}}
	}
	return d, nil
}

// Fill has nothing to fill in: the transcripts are elsewhere.
func (r *remote) Fill(context.Context, string, *curve.Curve, int64) error { return nil }
