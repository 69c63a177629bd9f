package page

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sm/dashboards/central"
	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/wire"
)

const (
	// pageEvery is the shortest interval of changes for an open page. After
	// pageAtLeast time alone may have changed a snapshot. Pages share a snapshot
	// for freshFor.
	pageEvery   = 250 * time.Millisecond
	freshFor    = 200 * time.Millisecond
	pageAtLeast = 5 * time.Second
	// beatEvery is the interval of events without changes, and the time after which
	// a snapshot that is not requested again is dropped.
	beatEvery = 15 * time.Second
	// maxPages limits the pages that are open at once: there are 64 connections.
	maxPages = 32
	// lookWithin limits the wait for the observer's loop. It is less than the time
	// limit of the HTTP server.
	lookWithin = 8 * time.Second
)

// Hub has the data of all open pages.
type Hub struct {
	o      Options
	page   *renderer
	views  []*view         // this machine, then the central servers
	open   atomic.Int64    // pages of all views
	closed context.Context // done after Close
	end    context.CancelFunc
}

// view shows one source. A snapshot never changes; each page takes the changes
// of the newest one at its own pace, so a slow page skips states and delays no
// other. Without an open page a view does nothing and keeps nothing.
type view struct {
	*Hub
	Name   string // in addresses, "" for this machine
	source Source
	remote *remote // the source if it is a central server, else nil

	mu   sync.Mutex
	now  *snapshot
	idle *time.Timer // drops the snapshot
}

// snapshot is the content of the list at one time.
type snapshot struct {
	seq        uint64 // counts from a random number, so that marks of another hub are recognized
	at         time.Time
	edits      uint64 // Edits of the source before List
	html       string // the head, above the rows
	keysAt     uint64 // seq of the last snapshot in which an agent was added or removed
	rows       []*drawn
	agents     map[string]*drawn
	unfinished bool // catching up, or transcripts must still be read for curves
}

// drawn is one row. It is reused while the session and its curve stay equal.
type drawn struct {
	html    func() string // returns the same text at each call
	data    Data
	session *api.Session
	history *curve.History
	version uint32 // of history
	seq     uint64 // of the snapshot in which it changed last
}

// New prepares the page.
func New(o Options) (*Hub, error) {
	h := &Hub{o: o, page: newRenderer(time.Local)}
	h.closed, h.end = context.WithCancel(context.Background())
	h.views = []*view{{source: o.Source}}
	for _, s := range o.Servers {
		server, err := central.New(s.Options)
		if err != nil {
			return nil, fmt.Errorf("prometheus %s: %w", s.Name, err)
		}
		r := &remote{server: server}
		h.views = append(h.views, &view{Name: s.Name, source: r, remote: r})
	}
	for _, v := range h.views {
		v.Hub = h
		v.idle = time.AfterFunc(beatEvery, v.drop)
	}
	return h, nil
}

// viewOf returns the view of a request: the parameter names a server, or is 1
// for the first one; without it, the view is this machine.
func (h *Hub) viewOf(r *http.Request) (*view, error) {
	query := r.URL.Query()
	if !query.Has(parameter) {
		return h.views[0], nil
	}
	name := query.Get(parameter)
	var known []string
	for i, v := range h.views[1:] {
		if v.Name == name || i == 0 && name == "1" {
			return v, nil
		}
		known = append(known, v.Name)
	}
	return nil, &api.StatusError{
		Code: http.StatusNotFound,
		Text: "no server has this name; prometheus in the configuration has " +
			cmp.Or(strings.Join(known, ", "), "no server"),
	}
}

// Close ends all streams and queries, and waits for the queries. It may be called more
// than once.
func (h *Hub) Close() {
	h.end()
	for _, v := range h.views[1:] {
		v.remote.mu.Lock()
		over := v.remote.over
		v.remote.mu.Unlock()
		if over != nil {
			<-over
		}
	}
}

// drop removes the last snapshot, and the answer of a central server that it
// came from.
func (v *view) drop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = nil
	if v.remote != nil {
		v.remote.forget()
	}
}

// look returns the newest snapshot. It makes a new one if there may be changes
// and the last one is older than every. For a central server it uses the last
// answer.
func (v *view) look(ctx context.Context, every time.Duration) (*snapshot, error) {
	if v.remote != nil {
		v.remote.refresh(ctx, v.closed)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.idle.Reset(beatEvery)
	old := cmp.Or(v.now, &snapshot{seq: rand.Uint64N(1 << 62)})
	edits := v.source.Edits()
	age := time.Since(old.at)
	same := edits == old.edits && !old.unfinished && age < pageAtLeast
	if same || age < every {
		return old, nil
	}
	next, err := v.draw(ctx, old)
	if err != nil {
		return nil, err
	}
	next.edits = edits
	v.now = next
	return next, nil
}

// draw makes the next snapshot from the last one.
func (v *view) draw(ctx context.Context, old *snapshot) (*snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	at := time.Now()
	list, err := v.source.List(ctx, at, func(agent string) (version uint32, ok bool) {
		d := old.agents[agent]
		if d == nil {
			return 0, false
		}
		return d.version, true
	})
	if err != nil {
		return nil, err
	}

	next := &snapshot{
		seq:        old.seq + 1,
		at:         at,
		keysAt:     old.keysAt,
		agents:     make(map[string]*drawn, len(list.Agents)),
		unfinished: list.Head.CatchingUp || !list.Filled,
	}
	if len(list.Agents) != len(old.agents) {
		next.keysAt = next.seq
	}
	for i := range list.Agents {
		x := &list.Agents[i]
		last := old.agents[x.ID]
		if last == nil {
			next.keysAt = next.seq
		}
		d := v.drawRow(x, last, next.seq)
		next.agents[x.ID] = d
		next.rows = append(next.rows, d)
	}
	slices.SortFunc(next.rows, compare)

	head := headOf(&list)
	if r := v.remote; r != nil {
		r.mu.Lock()
		head.Server = tame(r.server.Name)
		head.Problem = tame(r.why)
		head.Unanswered = r.ended.IsZero()
		head.Since = r.gone.Unix()
		r.mu.Unlock()
	}
	next.html = v.page.draw("head", head)
	return next, nil
}

// drawRow returns a row of snapshot seq, the old one if the session and its
// curve are equal. A new row is drawn when its HTML is first used: a loaded
// page has only the first rows.
func (v *view) drawRow(x *wire.Agent, old *drawn, seq uint64) *drawn {
	history := x.History
	if history == nil || old != nil && reflect.DeepEqual(history, old.history) {
		history = old.history
		if reflect.DeepEqual(*old.session, x.Session) {
			old.version = x.Version // of a curve that looks the same
			return old
		}
	}
	session := x.Session // a copy, so that the row does not keep the whole list
	d := &drawn{
		data:    dataOf(&session),
		session: &session,
		history: history,
		version: x.Version,
		seq:     seq,
	}
	d.html = sync.OnceValue(func() string {
		return v.page.draw("row", row{d.session, v.Name, sparkOf(d.session, history)})
	})
	if old != nil && history == old.history && d.data == old.data && d.html() == old.html() {
		d.seq = old.seq
	}
	return d
}
