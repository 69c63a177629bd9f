package fleet

import (
	"time"

	"sm/alerts"
	"sm/observer/tally"
	"sm/transcript"
	"sm/transcript/claude/hook"
	"sm/transcript/clients"
)

// Options are the settings of a Fleet.
type Options struct {
	// Created is when the state directory was made: counters count nothing that is
	// stamped before it, except what was seen being appended.
	Created time.Time
	Windows []transcript.WindowRule
	// Clients are all clients.
	Clients    clients.Table
	Thresholds alerts.Thresholds
	// Ledger finds the messages that were claimed in earlier runs; nil for none:
	// then all claims stay in memory.
	Ledger Ledger
	// ActiveFor is how long after its last activity a session counts as live;
	// 10 minutes when it is 0.
	ActiveFor time.Duration
	// Estimate guesses the context of sessions whose provider reports no usage.
	Estimate bool
	// Alive reports whether a process runs; nil if the system does not show it. An
	// empty start time matches any.
	Alive func(pid int, start string) bool
	// Origin is what the environment of a client's process says of its agent; nil for nothing.
	Origin func(pid int) hook.Origin
	// Location says where midnight is; nil for UTC.
	Location *time.Location
}

// Fleet has all sessions of a machine. It is for one goroutine at a time.
type Fleet struct {
	options  Options
	created  transcript.Instant
	settled  bool
	newest   transcript.Instant // the newest time of any record or signal
	counters tally.Counters
	dropped  uint64 // status line reports that were too old, or of another session
	changed  changes
	out      Update // until the public method returns

	files    map[string]*file    // by path
	sessions map[string]*session // by key, all that were ever seen
	labels   map[string]struct{} // all that were ever assigned
	shared   map[string]string   // strings that many sessions have in common

	agents  map[string]*agent  // by id, those with more than a transcript
	clients map[string]Client  // the registry of the client, by session
	early   []Client           // registry entries from before Settle
	holders map[Process]string // sessions, by the process that holds them
	running map[Process]string // agents, by their signals
	active  map[string]bool    // as Activity reported last, by agent

	claims    map[transcript.Key]transcript.Key // owners of compactions
	messages  map[transcript.Key]transcript.Key // owners of messages that the Ledger does not have yet
	undecided map[*file]transcript.Instant      // files with undecided compactions, and since when

	worked map[*session]*worked

	opened map[string]transcript.Instant // when a thread of Codex was first seen open, by session
	heard  map[string][]Heard            // of threads whose agents are not known yet, by session
}

// newFleet makes an empty fleet.
func newFleet(o Options, settled bool) *Fleet {
	return &Fleet{
		options:   o,
		created:   transcript.InstantOf(o.Created),
		settled:   settled,
		changed:   changes{next: 1, items: map[item]uint64{}},
		files:     map[string]*file{},
		sessions:  map[string]*session{},
		labels:    map[string]struct{}{},
		shared:    map[string]string{},
		agents:    map[string]*agent{},
		clients:   map[string]Client{},
		holders:   map[Process]string{},
		running:   map[Process]string{},
		active:    map[string]bool{},
		claims:    map[transcript.Key]transcript.Key{},
		messages:  map[transcript.Key]transcript.Key{},
		undecided: map[*file]transcript.Instant{},
		worked:    map[*session]*worked{},
		opened:    map[string]transcript.Instant{},
		heard:     map[string][]Heard{},
	}
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
		f.agents[a.ID] = &agent{Agent: a}
		if p := f.agents[a.ID].process(); p.known() {
			f.running[p] = a.ID
		}
		f.newest = max(f.newest, a.Since, a.Spoke, a.Hooked)
		f.labels[a.Label] = struct{}{}
	}
	if !s.Settled {
		f.counters = tally.Counters{}.Clone()
		return f
	}
	f.counters = s.Counters.Clone()
	for _, c := range s.Claims {
		f.claims[c.Key] = c.Owner
	}
	for _, rec := range s.Records {
		rec.shrink()
		f.session(rec.SessionID).record = &rec
		f.labels[rec.Label] = struct{}{}
		if rec.PID != 0 {
			f.holders[Process{rec.PID, rec.ProcStart}] = rec.SessionID
		}
	}
	for i := range s.Files {
		x := &file{File: s.Files[i]}
		x.sub = x.Key == "" && isSubagent(x.Name, x.Parent)
		f.files[x.Cursor.Path] = x
		f.share(x)
		f.attach(x)
		f.giveRecord(x)
		if len(s.Files[i].Undecided) > 0 {
			f.undecided[x] = 0
		}
	}
	return f
}

// Forget drops what is kept of an agent besides its transcripts, unless it was made known
// by name or is at work. Each of its sessions is an agent of its own then.
func (f *Fleet) Forget(which alerts.AgentID) bool {
	id := string(which)
	a := f.agents[id]
	switch {
	case f.active[id], a != nil && a.Registered:
		return false
	case a == nil:
		return true
	}
	if p := a.process(); f.running[p] == id {
		delete(f.running, p)
	}
	delete(f.agents, id)
	f.changed.agent(id)
	for rec := range f.recordsOf(id) {
		if rec.SessionID != id {
			rec.Agent = rec.SessionID
			f.changed.record(rec.SessionID)
		}
	}
	return true
}

// Configure changes the windows and the thresholds by which sessions are shown.
func (f *Fleet) Configure(windows []transcript.WindowRule, thresholds alerts.Thresholds) {
	f.options.Windows = windows
	f.options.Thresholds = thresholds
}

// Counters are the fleet's figures that only grow.
func (f *Fleet) Counters() tally.Counters { return f.counters.Clone() }

// Created is when the state directory was made.
func (f *Fleet) Created() time.Time { return f.created.Time() }

// Attempted counts compactions that an agent of a client began, by trigger, and its storms: the engine has counted them.
func (f *Fleet) Attempted(client string, attempts [4]uint64, storms uint64) {
	f.counters.Attempted(client, attempts, storms)
	f.changed.count()
}

// Settled reports whether the history found at the first start is complete.
func (f *Fleet) Settled() bool { return f.settled }

// Dropped counts the reports of the status line that said nothing any more.
func (f *Fleet) Dropped() uint64 { return f.dropped }

func (f *Fleet) alive(pid int, start string) bool {
	return f.options.Alive != nil && f.options.Alive(pid, start)
}

// temper mends the stamps of new records of a file that lie ahead of the clock, or ahead
// of records that were written after them: they count as written now, or just before
// those. One far behind what was written before it, as after the clock was set back,
// counts as written now, too. Else one such stamp would make all that follows look old.
func (f *Fleet) temper(x *file, entries []transcript.Entry) {
	latest := f.newest
	if latest == 0 {
		return // no time is known
	}
	ahead := func(at transcript.Instant) bool { return at > latest+skew }
	for i := len(entries) - 1; i >= 0; i-- {
		e := &entries[i]
		if e.At == 0 {
			continue
		}
		if ahead(e.At) {
			e.At = latest
			x.ahead = max(x.ahead, latest)
		}
		if e.InOrder && e.At < latest {
			latest = e.At
		}
	}
	for i := range entries {
		e := &entries[i]
		switch {
		case !e.InOrder || e.At == 0:
			continue
		case e.At+skew < x.stamped:
			e.At = f.newest
			x.ahead = max(x.ahead, e.At)
		case e.At < x.ahead && x.ahead-e.At <= skew:
			e.At = x.ahead // earlier records stay earlier
		}
		x.stamped = e.At
	}
}
