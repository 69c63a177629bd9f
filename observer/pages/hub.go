package pages

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	webpage "sm/dashboards/page"
	"sm/observer/curve"
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
	// fillAtOnce bounds the time that one look takes for reading the ends of transcripts;
	// what is left comes with the next.
	fillAtOnce = 300 * time.Millisecond
)

// Hub has the data of all open pages. Each look makes a snapshot that never changes;
// the pages take the changes of the newest one, each at its own pace, so a slow page
// skips states and delays no other. With no page open it does and holds nothing.
type Hub struct {
	o      Options
	view   string         // its name in addresses, "" for the observer's own
	remote *remote        // of a view of a central server, else nil
	views  []*Hub         // of central servers
	links  []webpage.Link // to all views
	open   *atomic.Int64  // pages of all views
	page   *webpage.Page
	name   string // names this run of the observer in marks

	filling chan struct{} // holds a sign while the end of a transcript is read: memory for one is enough

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

// snapshot is all that the list shows at one moment.
type snapshot struct {
	run    string
	seq    uint64
	at     time.Time
	head   webpage.Head
	html   string // of head
	headAt uint64 // the snapshot in which it changed last
	rows   []*drawn
	agents map[string]*drawn
	filled bool // nothing is left to be filled in
}

// drawn is one row; it stays the same as long as what it shows does.
type drawn struct {
	html    func() (string, error) // the same each time
	data    webpage.Data
	row     webpage.Row
	history webpage.History
	version uint32 // of past
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
	p, err := webpage.New()
	if err != nil {
		return nil, fmt.Errorf("prepare the page: %w", err)
	}
	h := prepare(o, p, new(atomic.Int64), new(atomic.Pointer[Limits]))
	h.SetLimits(Limits{Pages: MaxPages, Beat: beatEvery, Write: writeWithin})
	return h, h.addViews()
}

func prepare(o Options, p *webpage.Page, open *atomic.Int64, limits *atomic.Pointer[Limits]) *Hub {
	return &Hub{
		o: o, page: p, open: open, limits: limits, name: strings.ToLower(rand.Text()[:12]),
		pages: map[chan struct{}]bool{}, woken: make(chan struct{}, 1), closed: make(chan struct{}), filling: make(chan struct{}, 1),
	}
}

// Build names the version of the page that is served.
func (h *Hub) Build() string { return h.page.Build() }

// SetLimits changes the limits for pages that are opened from now on.
func (h *Hub) SetLimits(l Limits) { h.limits.Store(&l) }

// Open counts the open pages; kept means that data is kept for them.
func (h *Hub) Open() (pages int, kept bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.pages), h.now != nil
}

// ErrCrowded answers one page too many.
var ErrCrowded = errors.New("too many pages are open; close one of them")

// join announces snapshots on the returned channel, which holds one signal, until
// leave; for a page with a detail also changes that only the detail shows.
func (h *Hub) join(detail bool) (chan struct{}, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open.Add(1) > int64(h.limits.Load().Pages) {
		h.open.Add(-1)
		return nil, ErrCrowded
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

// Run looks while pages are open, until ctx ends or Close. The last snapshot outlives them a little: a page that
// is loaded comes back for its events.
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
	if h.remote != nil {
		polling, end := context.WithCancel(ctx)
		var ended sync.WaitGroup
		ended.Go(func() { h.remote.poll(polling) })
		defer ended.Wait()
		defer end()
	}
	beat := h.limits.Load().Beat
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
				if now.Sub(idle) > beat {
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
	if old != nil && old.filled && edits == h.edits && time.Since(old.at) < pageAtLeast && !old.head.CatchingUp {
		return old, nil
	}
	next, err := h.draw(ctx, old)
	if err != nil {
		return nil, err
	}
	edited, changed := edits != h.edits, old == nil || old.seq != next.seq
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
	s, filled, err := h.list(ctx, at, old.agents)
	if err != nil {
		return nil, err
	}
	s.Head.Projects, s.Head.Demo = h.o.Projects, h.o.Demo
	h.seq++
	next := &snapshot{run: h.name, seq: h.seq, at: at, head: s.Head, agents: make(map[string]*drawn, len(s.Agents)), filled: filled}
	changed := len(s.Agents) != len(old.agents)
	for i := range s.Agents {
		x := &s.Agents[i]
		d := old.agents[x.Row.ID]
		if d == nil || x.History != nil || d.row != x.Row {
			d = h.drawRow(x, d)
			d.seq, changed = h.seq, true
		}
		next.agents[x.Row.ID] = d
		next.rows = append(next.rows, d)
	}
	slices.SortFunc(next.rows, compareRows)
	if next.html, err = h.page.Head(&next.head); err != nil {
		return nil, err
	}
	if next.headAt = old.headAt; next.html != old.html {
		next.headAt, changed = h.seq, true
	}
	if !changed { // it says nothing new
		h.seq--
		next.seq = h.seq
	}
	return next, nil
}

func compareRows(a, b *drawn) int {
	switch {
	case webpage.Before(&a.row, &b.row):
		return -1
	case webpage.Before(&b.row, &a.row):
		return 1
	}
	return 0
}

// list asks the loop for all that is shown; filled means that the ends of all
// transcripts were read. Since that takes time, began limits it.
func (h *Hub) list(ctx context.Context, began time.Time, old map[string]*drawn) (l List, filled bool, err error) {
	known := func(agent string) (uint32, bool) {
		d := old[agent]
		if d == nil {
			return 0, false
		}
		return d.version, true
	}
	for { // a second time with what has been filled in
		if l, err = h.o.Source.List(ctx, began, known); err != nil {
			return l, false, err
		}
		var tried bool
		if filled, tried = h.FillAll(ctx, l.Agents, began); !tried || time.Since(began) > fillAtOnce {
			return l, filled, nil
		}
	}
}

// drawRow makes a row. It is drawn only when somebody is to see it, for a page that is loaded shows the first rows alone.
// Where only the version of a history is given, the row keeps the history that it had.
func (h *Hub) drawRow(x *Agent, old *drawn) *drawn {
	history := x.History
	if history == nil {
		history = &old.history
	}
	d := &drawn{data: webpage.DataOf(&x.Row), row: x.Row, version: x.Version, history: *history}
	d.html = sync.OnceValues(func() (string, error) { return h.page.Row(&d.row, &d.history) })
	return d
}

// FillAll reads the ends of the transcripts of agents that are shown for the first
// time, for a limited time. all means that none is left, some that there were some.
func (h *Hub) FillAll(ctx context.Context, agents []Agent, began time.Time) (all, some bool) {
	for i := range agents {
		x := &agents[i]
		if x.Path == "" || x.Depth >= curve.ListDepth {
			continue
		}
		if time.Since(began) > fillAtOnce || ctx.Err() != nil {
			return false, some
		}
		some = true
		h.fillIn(ctx, x.Row.ID, x.Path, curve.ListDepth)
	}
	return true, some
}
