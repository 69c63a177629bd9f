package page

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/respond"
	"sm/observer/wire"
)

const (
	// pageEvery is how often a page that is open gets news at most, pageAtLeast how often
	// it is looked whether time alone has changed something.
	pageEvery   = 250 * time.Millisecond
	pageAtLeast = 5 * time.Second
	// beatEvery is the interval of events without changes.
	beatEvery = 15 * time.Second
	// MaxPages bounds the pages that are open at once: there are 64 connections.
	MaxPages = 32
	// lookWithin limits the wait for the loop. It is less than the time limit of
	// the HTTP server.
	lookWithin = 8 * time.Second
)

// Hub has the data of all open pages. Each look makes a snapshot that never changes;
// the pages take the changes of the newest one, each at its own pace, so a slow page
// skips states and delays no other. With no page open it does and holds nothing.
type Hub struct {
	o      Options
	view   string        // its name in addresses, "" for the observer's own
	remote *remote       // of a view of a central server, else nil
	views  []*Hub        // of central servers
	links  []string      // the names of all views
	open   *atomic.Int64 // pages of all views
	page   *renderer
	name   string // names this run of the observer in marks

	looking sync.Mutex // one look at a time
	edits   uint64     // that the newest snapshot has seen
	seq     uint64

	limits *atomic.Pointer[Limits] // of all views

	mu     sync.Mutex
	now    *snapshot
	pages  map[chan struct{}]bool // notified of each snapshot; whether they show an agent in full
	woken  chan struct{}
	closed chan struct{}
	once   sync.Once
}

// snapshot is all that the list shows at one time.
type snapshot struct {
	run        string
	seq        uint64
	at         time.Time
	html       string // of what is above the rows
	headAt     uint64 // the snapshot in which that changed last
	rows       []*drawn
	agents     map[string]*drawn
	unfinished bool // catching up, or transcripts are left to be read for curves
}

// drawn is one row, the same as long as the session and its curve are.
type drawn struct {
	html    func() (string, error) // the same each time
	data    Data
	session *api.Session
	history *curve.History
	version uint32 // of history
	seq     uint64 // the snapshot in which it changed last
}

// mark says up to where a page knows.
func (s *snapshot) mark() string { return s.run + "." + strconv.FormatUint(s.seq, 10) }

// after is the snapshot that a page's mark speaks of, 0 for one of another run.
func (s *snapshot) after(mark string) uint64 {
	run, n, _ := strings.Cut(mark, ".")
	seq, err := strconv.ParseUint(n, 10, 64)
	if run != s.run || err != nil || seq > s.seq {
		return 0
	}
	return seq
}

// New prepares the page. Nothing runs until Run.
func New(o Options) (*Hub, error) {
	p, err := newRenderer(time.Local)
	if err != nil {
		return nil, fmt.Errorf("prepare the page: %w", err)
	}
	h := prepare(o, p, new(atomic.Int64), new(atomic.Pointer[Limits]))
	h.SetLimits(Limits{Pages: MaxPages, Beat: beatEvery, Write: writeWithin})
	return h, h.addViews()
}

func prepare(
	o Options,
	p *renderer,
	open *atomic.Int64,
	limits *atomic.Pointer[Limits],
) *Hub {
	return &Hub{
		o:      o,
		page:   p,
		open:   open,
		limits: limits,
		name:   strings.ToLower(rand.Text()[:12]),
		pages:  map[chan struct{}]bool{},
		woken:  make(chan struct{}, 1),
		closed: make(chan struct{}),
	}
}

// Build names the version of the page that is served.
func (h *Hub) Build() string { return h.page.build }

// SetLimits changes the limits for pages that are opened from now on.
func (h *Hub) SetLimits(l Limits) { h.limits.Store(&l) }

// join announces snapshots on the returned channel, which holds one signal, until
// leave; for a page with a detail also changes that only the detail shows.
func (h *Hub) join(detail bool) (chan struct{}, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open.Add(1) > int64(h.limits.Load().Pages) {
		h.open.Add(-1)
		return nil, respond.Refuse(
			http.StatusServiceUnavailable,
			"too many pages are open; close one of them",
		)
	}
	sign := make(chan struct{}, 1)
	h.pages[sign] = detail
	h.wake()
	return sign, nil
}

func (h *Hub) leave(sign chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.pages, sign)
	h.open.Add(-1)
}

func (h *Hub) wake() {
	select {
	case h.woken <- struct{}{}:
	default:
	}
}

// Close ends all streams. It may be called more than once.
func (h *Hub) Close() {
	for _, v := range h.views {
		v.Close()
	}
	h.once.Do(func() { close(h.closed) })
}

// Run looks while pages are open, until ctx ends or Close. The last snapshot outlives
// them a little: a page that is loaded comes back for its events.
func (h *Hub) Run(ctx context.Context) {
	var views sync.WaitGroup
	defer views.Wait()
	for _, v := range h.views {
		views.Go(func() { v.Run(ctx) })
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.closed:
			return
		case <-h.woken:
			h.watch(ctx)
		}
	}
}

func (h *Hub) watch(ctx context.Context) {
	ctx, end := context.WithCancel(ctx)
	if h.remote != nil {
		var polling sync.WaitGroup
		defer polling.Wait()
		polling.Go(func() { h.remote.poll(ctx) })
	}
	defer end()
	tick := time.NewTicker(pageEvery)
	defer tick.Stop()
	idle := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.closed:
			return
		case now := <-tick.C:
			if !h.watched() {
				if now.Sub(idle) > h.limits.Load().Beat {
					h.drop()
					return
				}
				continue
			}
			idle = now
			if _, err := h.look(ctx); err != nil {
				h.o.Log.Debug("no news for the page", "err", err)
			}
		}
	}
}

func (h *Hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.pages) > 0
}

// drop forgets the last snapshot, unless somebody has come.
func (h *Hub) drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.pages) == 0 {
		h.now = nil
	}
}

// current returns what a page that is loaded shows. Of a central server that is
// the last answer, and at first, after answerWait, that there is none yet.
func (h *Hub) current(ctx context.Context) (*snapshot, error) {
	if h.remote != nil {
		h.wake()
		h.remote.wait(ctx)
	}
	return h.look(ctx)
}

// look is the newest snapshot: a new one, if anything may have changed.
func (h *Hub) look(ctx context.Context) (*snapshot, error) {
	h.looking.Lock()
	defer h.looking.Unlock()
	old := h.newest()
	edits := h.o.Source.Edits()
	if old != nil && !old.unfinished && edits == h.edits && time.Since(old.at) < pageAtLeast {
		return old, nil
	}
	next, err := h.draw(ctx, old)
	if err != nil {
		return nil, err
	}
	edited := edits != h.edits
	changed := old == nil || old.seq != next.seq
	h.edits = edits
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.now == nil { // at first, or dropped meanwhile
		h.wake() // so that it is dropped without pages
	}
	h.now = next
	for sign, detail := range h.pages {
		if changed || detail && edited {
			select {
			case sign <- struct{}{}:
			default: // it has not come to the last one yet
			}
		}
	}
	return next, nil
}

// newest is the last snapshot, nil where that has been dropped.
func (h *Hub) newest() *snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// draw makes the next snapshot out of the last.
func (h *Hub) draw(ctx context.Context, old *snapshot) (*snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	if old == nil {
		old = &snapshot{}
	}
	at := time.Now()
	known := func(agent string) (uint32, bool) {
		d := old.agents[agent]
		if d == nil {
			return 0, false
		}
		return d.version, true
	}
	list, err := h.o.Source.List(ctx, at, known)
	if err != nil {
		return nil, err
	}

	h.seq++
	next := &snapshot{
		run:        h.name,
		seq:        h.seq,
		at:         at,
		headAt:     old.headAt,
		agents:     make(map[string]*drawn, len(list.Agents)),
		unfinished: list.Head.CatchingUp || !list.Filled,
	}
	changed := len(list.Agents) != len(old.agents)
	for i := range list.Agents {
		x := &list.Agents[i]
		d, same, err := h.drawRow(x, old.agents[x.ID])
		if err != nil {
			return nil, err
		}
		if !same {
			d.seq = h.seq
			changed = true
		}
		next.agents[x.ID] = d
		next.rows = append(next.rows, d)
	}
	slices.SortFunc(next.rows, compare)

	head := headOf(&list)
	if h.remote != nil {
		h.remote.describe(&head)
	}
	if next.html, err = h.page.draw("head", head); err != nil {
		return nil, err
	}
	if next.html != old.html {
		next.headAt = h.seq
		changed = true
	}
	if !changed { // it says nothing new
		h.seq--
		next.seq = h.seq
	}
	return next, nil
}

// drawRow makes a row, or returns the old one if it looks the same. A new row is drawn
// when it is read first: a page that is loaded has the first rows only.
func (h *Hub) drawRow(x *wire.Agent, old *drawn) (d *drawn, same bool, err error) {
	history := x.History
	if history == nil {
		history = old.history
		if reflect.DeepEqual(*old.session, x.Session) {
			return old, true, nil
		}
	}
	session := x.Session // a copy, so that the row does not keep the whole list
	d = &drawn{
		data:    dataOf(&session),
		session: &session,
		history: history,
		version: x.Version,
	}
	d.html = sync.OnceValues(func() (string, error) {
		return h.page.draw(
			"row",
			row{d.session, h.view, sparkOf(d.session, history)},
		)
	})
	if old == nil || x.History != nil || d.data != old.data {
		return d, false, nil
	}

	was, err := old.html()
	if err != nil {
		return nil, false, err
	}
	is, err := d.html()
	d.seq = old.seq
	return d, is == was, err
}
