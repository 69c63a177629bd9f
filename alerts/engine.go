package alerts

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"sm/transcript"
)

const (
	defaultSettle = 5 * time.Minute
	// doubled is how far apart the stamps of one event may lie that was told twice,
	// say by a hook that is registered twice.
	doubled = Instant(2 * time.Second)
	// skew is how far stamps may run ahead of the clock before the clock counts as
	// set back.
	skew = Instant(30 * time.Second)
	// lag is by how much the transcript may come later than a sample.
	lag = Instant(5 * time.Second)
	// recent is how old a context may be about which notices are given without a new reading.
	recent = Instant(10 * time.Minute)
)

// Engine decides which notices the agents of a fleet get. It must not be used by
// several goroutines at once.
type Engine struct {
	options Options
	texts   [kinds]*Template
	settle  Instant

	agents map[AgentID]*AgentState
	order  []*AgentState // sorted by id, so that every run ticks in the same order

	counters Counters
	revised  bool    // the settings may have changed since the agents were checked
	now      Instant // of the latest Tick
	newest   Instant // of all events
	changed  map[AgentID]struct{}
	out      []Action // of the current step

	// Sizes before automatic compactions, and the statistics of those clients that
	// have compacted often enough.
	learned map[client][]int64
	typical map[client]sizes
	lastHit lookup

	reminders []Reminder // sorted by id
	reminded  bool       // reminders have changed since the last Take
}

// New returns an engine without agents. It fails if a text is no valid template or
// uses an unknown field.
func New(o Options) (*Engine, error) {
	e := &Engine{}
	e.Restore(State{})
	if err := e.Configure(o); err != nil {
		return nil, err
	}
	return e, nil
}

// Configure changes the settings. What follows from them for agents that are known
// comes out of the next Tick: silencing, and thresholds that are no longer reached,
// withdraw what waits; the opposite checks the present level.
func (e *Engine) Configure(o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	texts, err := o.Messages.templates()
	if err != nil {
		return err
	}
	o.Settle = cmp.Or(o.Settle, defaultSettle)
	o.Reminders.Wait = cmp.Or(o.Reminders.Wait, defaultSettle)
	e.options, e.texts, e.settle, e.revised = o, texts, Instant(o.Settle), true
	return nil
}

// Step takes one event and says what follows from it at once.
func (e *Engine) Step(ev Event) []Action {
	if ev.Agent == "" || ev.Kind < EventSeen || ev.Kind > EventHeard {
		return nil
	}
	a := e.agent(ev.Agent)
	t := e.stamp(a, &ev)
	e.changed[a.Agent] = struct{}{}
	e.out = nil
	if ev.Kind == EventSeen {
		a.Parent, a.Name, a.Disabled = ev.Parent, ev.Name, ev.Disabled
	}
	e.mute(a, t)
	e.lapse(a, t)
	cycle, compacting := a.Cycle, a.Compacting
	switch ev.Kind {
	case EventReading:
		e.read(a, &ev, t)
	case EventCompacting:
		e.begin(a, &ev, t)
	case EventCompacted:
		e.compacted(a, &ev, t)
	case EventReset:
		e.reset(a, &ev, t)
	case EventTurnStart:
		a.startTurn(t)
	case EventTurnEnd:
		a.endTurn(t)
	case EventActive:
		a.activate(ev.On, t)
		e.remindAlways(a, t)
	case EventAlert:
		e.alert(a, ev.Notice, t)
	case EventHeard:
		a.hear(ev.Notice, ev.Cycle, t)
	}
	switch {
	case a.Compacting && !compacting:
		e.quiet(a)
	case compacting && !a.Compacting, a.Cycle != cycle:
		e.wake(a, t)
	}
	return e.out
}

// Tick says what follows from the passing of time alone, and when to ask again: zero
// if nothing can follow. Ask before the first Step and at least that often. When
// now is more than 30 s older than the newest stamp, the clock has been set back:
// what was stamped later than now then counts as stamped now, or else the future
// would be too old to count.
func (e *Engine) Tick(now time.Time) (actions []Action, next time.Time) {
	e.out = nil
	e.SetClock(now)
	var first Instant
	for _, a := range e.order {
		if e.revised {
			e.revise(a)
		}
		e.mute(a, e.now)
		e.lapse(a, e.now)
		e.silence(a)
		first = sooner(first, sooner(e.lapses(a), e.silent(a)))
	}
	e.revised = false
	first = sooner(first, e.remind())
	return e.out, first.Time()
}

// sooner is the earlier of two times; 0 is never.
func sooner(a, b Instant) Instant {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// SetClock tells the time without saying what follows from it: before what has happened
// while nobody was there is known.
func (e *Engine) SetClock(at time.Time) {
	now := transcript.InstantOf(at)
	if e.newest > now+skew {
		e.counters.ClockSteps++
		for _, a := range e.order {
			for _, t := range a.stamps() {
				*t = min(*t, now)
			}
			e.changed[a.Agent] = struct{}{}
		}
		for i := range e.reminders {
			e.reminders[i].Reset = min(e.reminders[i].Reset, now)
			e.reminded = true
		}
		e.newest, e.revised = now, true // of two readings another may stand for the context now
	}
	e.now = now
}

// Forget drops an agent. Should it return, it begins with the first cycle and says
// the same keys again, so its notices must be gone from the queue.
func (e *Engine) Forget(id AgentID) {
	i, ok := slices.BinarySearchFunc(e.order, id, byID)
	if ok {
		e.order = slices.Delete(e.order, i, i+1)
		delete(e.agents, id)
		e.unlearn(id, "")
		e.changed[id] = struct{}{}
	}
}

// Rename gives an agent another id, under which it goes on as before, with what it has
// been told. When the old id is not known, or the new one is, it reports false, and only
// the reminders go over.
func (e *Engine) Rename(from, to AgentID) bool {
	if from == to || to == "" {
		return false
	}
	e.renameReminders(from, to)
	a := e.agents[from]
	if a == nil || e.agents[to] != nil {
		return false
	}
	for k := range a.Said {
		if key := &a.Said[k].Key; key.Agent == from {
			key.Agent = to
		}
	}
	e.unlearn(from, to)
	e.Forget(from)
	a.Agent = to
	e.agents[to] = a
	i, _ := slices.BinarySearchFunc(e.order, to, byID)
	e.order = slices.Insert(e.order, i, a)
	e.changed[to] = struct{}{}
	return true
}

// Snapshot returns all that the engine remembers.
func (e *Engine) Snapshot() State {
	s := e.state()
	s.Agents = e.Agents()
	return s
}

// state is all but the agents.
func (e *Engine) state() State {
	return State{
		Now:       e.now,
		Learned:   lessons(e.learned),
		Counters:  e.counters,
		Reminders: e.Reminders(""),
	}
}

// Take is like Snapshot, but of the agents it holds only those that have changed
// since the last Take, and besides it lists those that have been forgotten.
func (e *Engine) Take() (s State, gone []AgentID) {
	s = e.state()
	s.Agents = slices.Grow(s.Agents, len(e.changed)) // a busy fleet changes whole
	for _, id := range slices.Sorted(maps.Keys(e.changed)) {
		if a := e.agents[id]; a != nil {
			s.Agents = append(s.Agents, a.clone())
		} else {
			gone = append(gone, id)
		}
	}
	clear(e.changed)
	e.reminded = false
	return s, gone
}

// Restore goes on from a state, in place of all that the engine remembers. It takes over the agents of s. If it was
// taken under other settings, it is as if Configure had been called.
func (e *Engine) Restore(s State) {
	e.now, e.newest, e.counters, e.revised = s.Now, 0, s.Counters, true
	e.agents, e.order, e.changed = map[AgentID]*AgentState{}, nil, map[AgentID]struct{}{}
	for _, a := range s.Agents {
		e.agents[a.Agent] = a
		e.newest = max(e.newest, a.Clock)
	}
	for _, id := range slices.Sorted(maps.Keys(e.agents)) {
		e.order = append(e.order, e.agents[id])
	}
	e.reminders, e.reminded = slices.Clone(s.Reminders), false
	e.learned, e.typical, e.lastHit = map[client][]int64{}, map[client]sizes{}, lookup{}
	for _, l := range s.Learned {
		e.Learn(l)
	}
}

// agent finds an agent, or begins its first cycle.
func (e *Engine) agent(id AgentID) *AgentState {
	if a := e.agents[id]; a != nil {
		return a
	}
	a := &AgentState{Agent: id, Cycle: 1, Muted: e.options.Disabled, Trigger: transcript.Unknown, Made: transcript.Unknown}
	e.agents[id] = a
	i, _ := slices.BinarySearchFunc(e.order, id, byID)
	e.order = slices.Insert(e.order, i, a)
	return a
}

func byID(a *AgentState, id AgentID) int { return cmp.Compare(a.Agent, id) }

// stamp is the time of an event. One without is newer than all before: that is what
// the order in a file says of records that carry no time.
func (e *Engine) stamp(a *AgentState, ev *Event) Instant {
	t := cmp.Or(transcript.InstantOf(ev.At), a.Clock+1)
	// That a client runs is told by the observer's clock, between records that may be much older: one without a stamp
	// behind it follows the record before.
	if ev.Kind != EventActive {
		a.Clock = max(a.Clock, t)
	}
	e.newest = max(e.newest, t)
	return t
}

// present says that the agent's context can be taken for what it is now: its client
// runs, or has been heard of lately.
func (e *Engine) present(a *AgentState, t Instant) bool {
	r, known := a.current()
	return known && (a.Active || r.At+recent >= max(e.now, t))
}

// Counters returns what has been counted so far.
func (e *Engine) Counters() Counters { return e.counters }

// Agents returns the state of all agents, by id.
func (e *Engine) Agents() []*AgentState {
	all := make([]*AgentState, len(e.order))
	for i, a := range e.order {
		all[i] = a.clone()
	}
	return all
}

// IDs lists all agents.
func (e *Engine) IDs() []AgentID {
	ids := make([]AgentID, len(e.order))
	for i, a := range e.order {
		ids[i] = a.Agent
	}
	return ids
}

// AtWork lists the agents that were last told to be.
func (e *Engine) AtWork() (ids []AgentID) {
	for _, a := range e.order {
		if a.Active {
			ids = append(ids, a.Agent)
		}
	}
	return ids
}

// Open lists what was said in an agent's present cycle and not withdrawn: what its
// messages in the queue may be, should the agent be forgotten.
func (e *Engine) Open(id AgentID) (keys []Key) {
	a := e.agents[id]
	if a == nil {
		return nil
	}
	for _, s := range a.Said {
		if s.Open {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// Forgotten lists the agents that have sent nothing since a time, and that are
// not at work.
func (e *Engine) Forgotten(since time.Time) (ids []AgentID) {
	cut := transcript.InstantOf(since)
	for _, a := range e.order {
		if a.Clock < cut && !a.Active {
			ids = append(ids, a.Agent)
		}
	}
	return ids
}
