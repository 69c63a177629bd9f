package fleet

import (
	"time"

	"sm/alerts"
	"sm/observer/fleet/threads"
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
	*billing  // what boundaries of contexts cost
	*assigner // which agent has which session
	*origins  // in which session a message or compaction first happened
	*finder   // which session or agent an id means
	*liveness // who is at work, at rest, or has ended
	*viewer   // what others see

	threads *threads.Threads // which thread of Codex a client is in
}

// newFleet makes an empty fleet.
func newFleet(o Options, settled bool) *Fleet {
	b := &basis{
		options: o,
		created: transcript.InstantOf(o.Created),
		settled: settled,
		changed: newChanges(),
	}
	c := &catalog{
		basis:    b,
		files:    map[string]*file{},
		sessions: map[string]*session{},
		records:  map[string]*SessionRecord{},
		labels:   map[string]struct{}{},
		shared:   map[string]string{},
	}
	r := &roster{
		catalog:  c,
		agents:   map[string]*Agent{},
		clients:  map[string]Client{},
		holders:  map[process]string{},
		gone:     map[string]transcript.Instant{},
		running:  map[process]string{},
		prompted: map[string]transcript.Instant{},
		recent:   map[string][]transcript.Reading{},
	}
	g := &gauge{r}
	cs := &costs{r}
	fd := &finder{r}
	bl := &billing{roster: r, worked: map[string]*worked{}, after: map[string]string{}}
	lv := &liveness{finder: fd, active: map[string]bool{}}
	return &Fleet{
		basis:    b,
		catalog:  c,
		roster:   r,
		resolver: &resolver{r},
		gauge:    g,
		costs:    cs,
		billing:  bl,
		assigner: &assigner{
			roster:  r,
			gauge:   g,
			costs:   cs,
			billing: bl,
		},
		origins: &origins{
			roster:    r,
			gauge:     g,
			claims:    map[transcript.Key]transcript.Key{},
			undecided: map[*file]transcript.Instant{},
		},
		finder:   fd,
		threads:  threads.New(),
		liveness: lv,
		viewer:   &viewer{liveness: lv, gauge: g},
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
		f.agents[a.ID] = &a
		if p := a.process(); p.known() {
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
		f.records[rec.SessionID] = &rec
		f.labels[rec.Label] = struct{}{}
		if rec.PID != 0 {
			f.holders[process{rec.PID, rec.ProcStart}] = rec.SessionID
		}
	}
	for i := range s.Files {
		x := newFile(&s.Files[i])
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
func (f *Fleet) Forget(agent alerts.AgentID) bool {
	id := string(agent)
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
	delete(f.recent, id)
	delete(f.prompted, id)
	f.changed.agent(id)
	for key, rec := range f.records {
		if rec.Agent == id && key != id {
			rec.Agent = key
			f.changed.record(key)
		}
	}
	return true
}
