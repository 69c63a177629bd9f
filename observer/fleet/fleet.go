package fleet

import (
	"cmp"
	"time"

	"sm/alerts"
	"sm/observer/tally"
	"sm/transcript"
	"sm/transcript/claude/hook"
	"sm/transcript/clients"
)

// Options are the settings of a Fleet.
type Options struct {
	Windows []transcript.WindowRule
	// Prices are used to estimate costs.
	Prices transcript.Prices
	// Clients are all clients.
	Clients    clients.Table
	Thresholds alerts.Thresholds
	// Ledger finds the owners of messages that were claimed in earlier runs. If
	// it is nil, all claims stay in memory.
	Ledger Ledger
	// Estimate enables estimates of the context for sessions whose provider
	// reports no usage.
	Estimate bool
	// Alive reports whether a process runs; nil if the system does not show it. An
	// empty start time matches any.
	Alive func(pid int, start string) bool
	// Origin reads the agent from the environment of a client's process; nil for none.
	Origin func(pid int) hook.Origin
	// Project returns the name of a working directory's project. It is called
	// once for each directory, also in New; nil for [ProjectOf].
	Project func(cwd string) string
	// Location is the time zone of midnight; nil for UTC.
	Location *time.Location
}

// ActiveFor is how long after its last activity a session without a known client counts as
// live.
const ActiveFor = 10 * time.Minute

// Fleet has all sessions of a machine. It is not safe for concurrent use.
type Fleet struct {
	options  Options
	created  transcript.Instant
	settled  bool
	newest   transcript.Instant // the newest time of any record or signal
	counters tally.Counters
	changed  changes
	out      Update // result of the public method that is running

	files    map[string]*file    // by path
	sessions map[string]*session // all sessions ever seen, by key
	labels   map[string]bool     // all labels ever assigned

	agents  map[string]*agent  // agents with more than a transcript, by id
	clients map[string]Client  // the registry of the client, by session
	holders map[Process]string // sessions, by the process that holds them
	running map[Process]string // agents, by the process of their signals
	active  map[string]bool    // the last result of Activity, by agent

	claims    map[transcript.Key]transcript.Key // owners of compactions
	messages  map[transcript.Key]transcript.Key // owners of messages that the Ledger does not have yet
	undecided map[*file]transcript.Instant      // files with undecided compactions, and since when

	worked map[*session]*worked

	projects map[string]string // names, by working directory

	opened   map[string]transcript.Instant // when a thread of Codex was first seen open, by session
	received []Received                    // in threads without a known agent; Agent is the session
}

// New creates a fleet from the stored state. If the history is not settled,
// only the agents are used: the history must be read again, followed by Settle.
func New(o Options, s Stored) *Fleet {
	f := &Fleet{
		options:   o,
		created:   transcript.InstantOf(s.Created),
		settled:   s.Settled,
		changed:   changes{items: map[item]bool{}},
		files:     map[string]*file{},
		sessions:  map[string]*session{},
		labels:    map[string]bool{},
		agents:    map[string]*agent{},
		holders:   map[Process]string{},
		running:   map[Process]string{},
		active:    map[string]bool{},
		claims:    map[transcript.Key]transcript.Key{},
		messages:  map[transcript.Key]transcript.Key{},
		undecided: map[*file]transcript.Instant{},
		worked:    map[*session]*worked{},
		opened:    map[string]transcript.Instant{},
		projects:  map[string]string{},
	}
	if o.Project == nil {
		f.options.Project = ProjectOf
	}
	for _, a := range s.Agents {
		f.agents[a.ID] = &agent{Agent: a}
		if p := f.agents[a.ID].Process; p.known() {
			f.running[p] = a.ID
		}
		f.newest = max(f.newest, a.Since, a.Statusline, a.Hooked)
		f.labels[a.Label] = true
	}
	if !s.Settled {
		s = Stored{}
	}
	f.counters = s.Counters.Clone()
	for _, c := range s.Claims {
		f.claims[c.Key] = c.Owner
	}
	for _, rec := range s.Records {
		if f.agents[rec.Agent] == nil { // the stored agent is damaged
			rec.Agent = rec.SessionID
		}
		f.session(rec.SessionID).record = &rec
		f.labels[rec.Label] = true
		if rec.PID != 0 {
			f.holders[rec.process()] = rec.SessionID
		}
	}
	for i := range s.Files {
		x := &file{File: s.Files[i]}
		x.sub = x.Key == "" && isSubagent(x.Name, x.Parent)
		if x.Title.Source.Outdated() {
			x.Title = transcript.Title{}
			x.Cursor.Size = 0 // read the file again for its title
		}
		f.files[x.Cursor.Path] = x
		share(x)
		f.attach(x)
		f.giveRecord(x)
		if t := x.of.newestTotal(); t != (Total{}) && t.At == 0 &&
			x.Unreported.Since <= f.counters.Today.Begins {
			x.Unreported = Unreported{} // an earlier version included reported tokens
		}
		if len(s.Files[i].Undecided) > 0 {
			f.undecided[x] = 0
		}
	}
	return f
}

// Forget drops the state of an agent besides its transcripts, and reports
// whether it did: it keeps agents that were registered or are active. Each
// session of a dropped agent becomes an agent.
func (f *Fleet) Forget(id string) bool {
	a := f.agents[id]
	switch {
	case f.active[id], a != nil && a.Registered:
		return false
	case a == nil:
		return true
	}
	if p := a.Process; f.running[p] == id {
		delete(f.running, p)
	}
	delete(f.agents, id)
	f.changed.agent(id)
	for _, rec := range f.recordsOf(id) {
		if rec.SessionID != id {
			rec.Agent = rec.SessionID
			f.changed.record(rec.SessionID)
		}
	}
	return true
}

// Configure changes the windows, prices and thresholds.
func (f *Fleet) Configure(
	windows []transcript.WindowRule,
	prices transcript.Prices,
	thresholds alerts.Thresholds,
) {
	f.options.Windows = windows
	f.options.Prices = prices
	f.options.Thresholds = thresholds
}

// Counters returns the fleet's counters.
func (f *Fleet) Counters() tally.Counters { return f.counters.Clone() }

// Created returns when the state directory was created.
func (f *Fleet) Created() time.Time { return f.created.Time() }

// Attempted adds compaction attempts, by trigger, and storms of an agent's
// client to the counters. The engine has counted them.
func (f *Fleet) Attempted(client string, attempts [4]uint64, storms uint64) {
	f.counters.Attempted(client, attempts, storms)
	f.changed.counters = true
}

// Settled reports whether the history found at the first start is complete.
func (f *Fleet) Settled() bool { return f.settled }

func (f *Fleet) alive(p Process) bool {
	return f.options.Alive != nil && p.PID != 0 && f.options.Alive(p.PID, p.Start)
}

// Update has the events that result from a change or a signal.
type Update struct {
	Events   []alerts.Event
	Received []Received
	// Renamed agents have another id from now on, which is also in Events.
	Renamed []Renamed
	// Observed has the sizes at which clients compacted in the history of a
	// first start.
	Observed []alerts.ObservedCompactions
}

// Received is a text that reached an agent, according to its transcript.
type Received struct {
	Agent string
	Text  string
	At    transcript.Instant
}

// Renamed merges an agent that was known only by its session into the agent
// that it turned out to be, or separates an agent's client from its name.
type Renamed struct{ From, To string }

// emit adds an event to the next update.
func (f *Fleet) emit(ev alerts.Event) { f.out.Events = append(f.out.Events, ev) }

// finish moves the update of a public method to its result n.
func (f *Fleet) finish(n *Update) {
	*n = f.out
	f.out = Update{}
}

// Apply applies a change of one transcript. It may keep the change's messages,
// compactions and bills. There are no events before Settle, which the caller
// calls at the end of catch-up.
func (f *Fleet) Apply(c transcript.Change) (n Update) {
	defer f.finish(&n)
	if c.Gone {
		f.drop(c.Cursor.Path)
		return n
	}
	old := f.files[cmp.Or(c.From, c.Cursor.Path)]
	again := old != nil && old.Session.Lines > 0
	var earlier []transcript.Session
	if again && c.Whole && c.Cut {
		earlier = []transcript.Session{dropped(old, &c)}
	}
	x, was := f.place(&c)
	f.counters.Read(&was, &x.Session)
	if c.Limits != [2]Limit{} && c.Client != Claude { // Claude Code reports limits in the status line
		f.counters.Part(c.Client).Limited(c.Limits)
	}
	f.changed.file(c.Cursor.Path)
	if c.Whole {
		x.Earlier = earlier
		x.Inherited = transcript.Sums{}
		x.Copies = nil
		x.Known = nil
		x.backlog = nil
		c.Messages = once(c.Messages)
	}
	if !x.sub {
		f.keepWork(x, &c)
	}
	p := past{
		messages:    c.Messages,
		compactions: c.Compactions,
		bills:       c.Bills,
		fresh:       x.Session.Total() - was.Total(),
		whole:       c.Whole,
	}
	if !f.settled {
		x.backlog = append(x.backlog, p)
		return n
	}
	f.giveRecord(x)
	own := f.claim(x, &p)
	if x.sub {
		return n
	}
	f.fileEvents(x, was, &c, own, again)
	f.keepReceived(x)
	for i := range c.Entries {
		if e := &c.Entries[i]; e.Kind == transcript.KindContinued {
			f.continues(x.of, e.Text, cmp.Or(min(e.At, f.newest), f.newest))
		}
	}
	return n
}

// Settle ends the first reading: it determines for all history which file was
// first, independent of the order of reading. Before Settle there are no views
// and nothing to store. It returns the present contexts of recently active
// agents, and the compactions of all.
func (f *Fleet) Settle(now time.Time) (n Update) {
	defer f.finish(&n)
	if f.settled {
		return n
	}
	order := f.claimOrder()
	for _, x := range order {
		f.giveRecord(x)
	}
	for _, x := range order {
		f.out.Observed = append(f.out.Observed, f.claimBacklog(x))
	}
	f.settled = true
	f.changed.counters = true
	for _, c := range f.clients {
		f.hold(c)
	}
	f.out.Events = append(f.out.Events, f.present(now)...)
	return n
}

// smallContext is a size, in tokens, at which no client is about to compact,
// whatever threshold was learned.
const smallContext = 40_000
