package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"sm/alerts"
	"sm/transcript"
)

// Options are the settings of a Fleet.
type Options struct {
	// Created is when the state directory was made: counters count nothing that is
	// stamped before it, except what was seen being appended.
	Created    time.Time
	Windows    []transcript.WindowRule
	Thresholds alerts.Thresholds
	// Ledger finds the messages that were claimed in earlier runs; nil for none:
	// then all claims stay in memory.
	Ledger Ledger
	// ActiveFor is how long after its last activity a session counts as live;
	// 10 minutes when it is 0.
	ActiveFor time.Duration
	// Estimate guesses the context of sessions whose provider reports no usage.
	Estimate bool
	// Alive says whether a process still runs; nil for one who cannot tell. An empty
	// start time stands for any.
	Alive func(pid int, start string) bool
	// Location says where midnight is; nil for UTC.
	Location *time.Location
}

// Fleet is all sessions of a machine. It is for one goroutine at a time.
//
// Each part owns some of what is known, and uses only the parts that are listed before it.
type Fleet struct {
	*basis    // settings, the clock, counters, what is to be stored
	*catalog  // files, sessions, labels
	*roster   // agents, their processes and sessions
	*resolver // whose a hook or report is
	*gauge    // context sizes, windows
	*costs    // what clients reported to have cost
	*assigner // which agent has which session
	*origins  // in which session a message or compaction first happened
	*finder   // which session or agent an id means
	*liveness // who is at work, at rest, or has ended
	*viewer   // what others see
}

// basis is what all parts of a fleet share.
type basis struct {
	options  Options
	created  transcript.Instant
	settled  bool
	newest   transcript.Instant // the newest time that was told
	counters Counters
	dropped  uint64 // reports of the status line that were too old, or of another session
	changed  changes
}

// catalog knows the transcripts and the sessions that they belong to. Each session gets a label once.
type catalog struct {
	*basis
	files    map[string]*file    // by path
	sessions map[string]*session // by key, those with files
	seats    map[string]*Seat    // by key, of all sessions ever seen
	labels   map[string]struct{} // ever given
	shared   map[string]string   // strings that many sessions have in common
}

// roster knows the agents, and what their hooks and the registry of their clients said of them.
type roster struct {
	*catalog
	agents   map[string]*Agent               // by id, those of which more is known than a transcript
	clients  map[string]Client               // the registry, by session
	holders  map[process]string              // sessions, by the process that holds them
	gone     map[string]transcript.Instant   // when the client's process was found gone, by session
	running  map[process]string              // agents, by what their signals tell
	prompted map[string]transcript.Instant   // the newest prompt, by agent
	recent   map[string][]transcript.Reading // by agent
}

// resolver finds the agent that a hook or report speaks of.
type resolver struct{ *roster }

// gauge reads the size of contexts and windows, from transcripts and from the status line.
type gauge struct{ *roster }

// costs adds up what clients reported that sessions cost.
type costs struct{ *roster }

// assigner says which session an agent is in, as hooks, reports and the registry tell.
type assigner struct {
	*roster
	gauge *gauge
	costs *costs
	early []Client // what the registry said before Settle
}

// origins finds in which session a message or a compaction first happened. It counts there alone.
type origins struct {
	*roster
	gauge    *gauge
	claims   map[transcript.Key]transcript.Key // of compactions: whose
	messages map[transcript.Key]transcript.Key // those that the Ledger does not know yet
}

// finder finds sessions and agents by what they are called.
type finder struct{ *roster }

// liveness says who is at work, who is at rest, and whose client has ended.
type liveness struct {
	*finder
	active map[string]bool // as last told to the engine, by agent
}

// viewer shows sessions and agents to others.
type viewer struct {
	*liveness
	gauge *gauge
}

// newFleet makes an empty fleet.
func newFleet(o Options, settled bool) *Fleet {
	b := &basis{options: o, created: transcript.InstantOf(o.Created), settled: settled, changed: newChanges()}
	c := &catalog{
		basis: b, files: map[string]*file{}, sessions: map[string]*session{}, seats: map[string]*Seat{},
		labels: map[string]struct{}{}, shared: map[string]string{},
	}
	r := &roster{
		catalog: c, agents: map[string]*Agent{}, clients: map[string]Client{}, holders: map[process]string{},
		gone: map[string]transcript.Instant{}, running: map[process]string{}, prompted: map[string]transcript.Instant{},
		recent: map[string][]transcript.Reading{},
	}
	g, cs, fd := &gauge{r}, &costs{r}, &finder{r}
	lv := &liveness{finder: fd, active: map[string]bool{}}
	return &Fleet{
		basis: b, catalog: c, roster: r, resolver: &resolver{r}, gauge: g, costs: cs,
		assigner: &assigner{roster: r, gauge: g, costs: cs},
		origins:  &origins{roster: r, gauge: g, claims: map[transcript.Key]transcript.Key{}, messages: map[transcript.Key]transcript.Key{}},
		finder:   fd, liveness: lv, viewer: &viewer{liveness: lv, gauge: g},
	}
}

// file is one transcript with the session that it belongs to.
// There are as many as transcripts, so that what few have is behind pointers.
type file struct {
	Cursor       transcript.Cursor
	Name, Parent string
	Session      transcript.Session
	extra        *extra // nil for most
	of           *session
	past         *past // nil once the fleet is settled
	// told is the time for which the stamp of the newest reading or compaction was taken.
	told  transcript.Instant
	title *transcript.Title // nil for none; what it points to never changes
	sub   bool              // a subagent's
}

// extra is what few files have: the fields of File by these names, and ahead, the newest
// time for which a stamp was taken that could not be.
type extra struct {
	Key           string
	Inherited     Inherited
	Copies, Known []transcript.Key
	ahead         transcript.Instant
}

// nothing is the extra of all other files, to be read alone.
var nothing = &extra{}

// also is a file's extra to read, never nil.
func (x *file) also() *extra {
	if x.extra == nil {
		return nothing
	}
	return x.extra
}

// more is a file's extra to write.
func (x *file) more() *extra {
	if x.extra == nil {
		x.extra = &extra{}
	}
	return x.extra
}

// newFile takes a file that was stored.
func newFile(s *File) *file {
	x := &file{Cursor: s.Cursor, Name: s.Name, Parent: s.Parent, Session: s.Session}
	if s.Key != "" || s.Inherited != (Inherited{}) || len(s.Copies)+len(s.Known) > 0 {
		x.extra = &extra{Key: s.Key, Inherited: s.Inherited, Copies: s.Copies, Known: s.Known}
	}
	x.setTitle(s.Title)
	x.sub = s.Key == "" && isSubagent(s.Name, s.Parent)
	return x
}

// stored is a file as it is to be stored.
func (x *file) stored() File {
	e := x.also()
	return File{x.Cursor, x.Name, x.Parent, e.Key, x.Session, e.Inherited, e.Copies, e.Known, x.titleOf()}
}

// setTitle keeps the title that the file gives its session.
func (x *file) setTitle(t transcript.Title) {
	switch {
	case t == transcript.Title{}:
		x.title = nil
	case x.title == nil || *x.title != t:
		x.title = &t
	}
}

func (x *file) titleOf() transcript.Title {
	if x.title == nil {
		return transcript.Title{}
	}
	return *x.title
}

// session is what belongs together under one key. One without files of its own
// waits for them, and shows nowhere.
type session struct {
	key   string
	uuid  bool // the key is one, else a path
	owner transcript.Key
	seat  *Seat
	own   []*file    // the first is the one whose figures count
	side  *subagents // nil without files of subagents
}

// New makes a fleet of what has been stored. Without a settled history nothing
// else of it holds: the history must be read once more, and then Settle called.
func New(o Options, s Stored) *Fleet {
	if o.Created.IsZero() {
		o.Created = s.Created
	}
	if o.ActiveFor == 0 {
		o.ActiveFor = 10 * time.Minute
	}
	f := newFleet(o, s.Settled)
	for _, a := range s.Agents {
		f.agents[a.ID] = &a
		if p := a.process(); p.known() {
			f.running[p] = a.ID
		}
		f.newest = max(f.newest, a.Since, a.Spoke, a.Hooked)
		f.labels[a.Label] = struct{}{}
	}
	if !s.Settled {
		f.counters = Counters{}.clone()
		return f
	}
	f.counters = s.Counters.clone()
	for _, c := range s.Claims {
		f.claims[c.Key] = c.Owner
	}
	for _, seat := range s.Seats {
		seat.shrink()
		f.seats[seat.SessionID] = &seat
		f.labels[seat.Label] = struct{}{}
		if seat.PID != 0 {
			f.holders[process{seat.PID, seat.ProcStart}] = seat.SessionID
		}
	}
	for i := range s.Files {
		x := newFile(&s.Files[i])
		f.files[x.Cursor.Path] = x
		f.share(x)
		f.attach(x)
		f.sit(x)
	}
	return f
}

// Configure changes the windows and the thresholds by which sessions are shown.
func (b *basis) Configure(windows []transcript.WindowRule, thresholds alerts.Thresholds) {
	b.options.Windows, b.options.Thresholds = windows, thresholds
}

// Cursors says where reading goes on, by path.
func (c *catalog) Cursors() []transcript.Cursor {
	cursors := make([]transcript.Cursor, 0, len(c.files))
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		cursors = append(cursors, c.files[path].Cursor)
	}
	return cursors
}

// Counters are the fleet's figures that only grow.
func (b *basis) Counters() Counters { return b.counters.clone() }

// Settled reports whether the history found at the first start is complete.
func (b *basis) Settled() bool { return b.settled }

// Settle ends the first reading: of all history found, who was first is decided
// now, in an order that does not depend on how the files were found. Until then
// there are no views, and nothing to store. Of those at work lately it tells the
// present context, and of all where their clients compacted.
func (f *Fleet) Settle(now time.Time) (n Update) {
	if f.settled {
		return n
	}
	order := f.claimOrder()
	count := 0
	for _, x := range order {
		f.sit(x)
		count += len(x.past.messages)
	}
	f.messages, f.changed.messages = make(map[transcript.Key]transcript.Key, count), make([]Claim, 0, count)
	for _, x := range order {
		n.Observed = append(n.Observed, f.recall(x)...)
	}
	f.settled = true
	f.changed.settle()
	f.changed.count()
	n.add(f.holdEarly())
	n.Events = append(n.Events, f.present(now)...)
	return n
}

// smallContext is a size, in tokens, at which no client is about to compact, whatever has
// been learnt about it.
const smallContext = 40_000

// present tells the contexts of those sessions that did something lately.
func (vw *viewer) present(now time.Time) (events []alerts.Event) {
	for i, p := range vw.order() {
		x := p.s.own[0]
		id, sits := vw.agentOf(p.s)
		_, known := x.Session.Context()
		if !sits || !known || now.Sub(seen(x)) > vw.options.ActiveFor {
			continue
		}
		a := vw.sitting(p.s)
		ev := vw.gauge.reading(id, &x.Session, a, x.Session.Reading)
		small := ev.Tokens < smallContext &&
			vw.options.Thresholds.Level(ev.Tokens, ev.Window, vw.gauge.compactsAt(a, &x.Session, ev.Window)) == alerts.OK
		if i >= atWorkMost && a == nil && small {
			continue // nothing is due: the first one that it tells is soon enough
		}
		ev.History, ev.Cycle = true, 1+max(0, x.Session.Total()-total(x.also().Inherited.Compactions))
		events = append(events, ev)
	}
	return events
}

func total(c [3]int) int { return c[0] + c[1] + c[2] }

// claimOrder puts origins before copies, as far as that can be told: a session's
// own records before those of subagents, which may repeat them; files that name no
// origin before those that do; then by time. Where subagents' files were copied
// along with their session, they follow its order.
func (c *catalog) claimOrder() []*file {
	order := slices.SortedFunc(maps.Values(c.files), func(a, b *file) int {
		return cmp.Or(compareOrigin(a, b), strings.Compare(a.Cursor.Path, b.Cursor.Path))
	})
	ranks := map[*session]int{}
	for i, x := range order {
		if _, ranked := ranks[x.of]; !ranked && !x.sub {
			ranks[x.of] = i - len(order) // below that of orphans, which is 0
		}
	}
	slices.SortStableFunc(order, func(a, b *file) int {
		return cmp.Or(compareOrigin(a, b), cmp.Compare(ranks[a.of], ranks[b.of]))
	})
	return order
}

func compareOrigin(a, b *file) int {
	return cmp.Or(
		compareBool(a.sub, b.sub),
		compareBool(a.past.copied(), b.past.copied()),
		cmp.Compare(uint64(a.Session.Started)-1, uint64(b.Session.Started)-1), // 0, for no time at all, comes last
		cmp.Compare(a.Session.Active, b.Session.Active),
		strings.Compare(a.Name, b.Name),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
