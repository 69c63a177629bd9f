package alerts

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"text/template"
	"time"

	"sm/transcript"
)

const (
	// duplicate is the maximum distance between the stamps of an event that
	// arrives twice, for example from a hook that is registered twice.
	duplicate = Instant(2 * time.Second)
	// skew is how far stamps may be ahead of the clock before the engine
	// concludes that the clock was set back.
	skew = Instant(30 * time.Second)
	// lag is the maximum delay of the transcript behind a sample.
	lag = Instant(5 * time.Second)
	// recent is the maximum age of a reading that may cause a notice later.
	recent = Instant(10 * time.Minute)
)

// Engine decides which notices the agents of a fleet get. It must not be used by
// several goroutines at once.
type Engine struct {
	options Options
	texts   [Kinds]*template.Template

	agents map[string]*AgentState
	order  []*AgentState // by id; nil after a change, see sorted

	counters Counters
	revised  bool    // the settings may have changed since the agents were checked
	now      Instant // of the latest Tick
	newest   Instant // of all events
	changed  map[string]bool
	out      []Action // of the current step

	learned map[Clients][]int64 // sizes before automatic compactions

	// Reaches reports whether notices can reach the agent, or any agent for "".
	// If nil, they reach all agents. A later Tick or SendUnsent sends a notice
	// that could not be sent, if it still applies then.
	Reaches func(agent string) bool
	// Title returns the name of an agent for the operator. If nil, the agent's
	// own name or id is used.
	Title func(agent string) string

	reminders map[string]*Reminder // by id
	taken     map[string]Reminder  // as of the last Take
}

// New returns an engine without agents. It fails if a text of the messages is
// not a valid template or uses an unknown field.
func New(o Options) (*Engine, error) {
	e := &Engine{}
	e.Restore(State{})
	if err := e.Configure(o); err != nil {
		return nil, err
	}
	return e, nil
}

// Configure changes the settings. The next Tick applies them to known agents:
// it withdraws queued notices of muted agents and of thresholds that are no
// longer reached, and checks the current level of the others.
func (e *Engine) Configure(o Options) error {
	texts, err := o.Messages.templates()
	if err != nil {
		return err
	}
	o.Reminders.Wait = cmp.Or(o.Reminders.Wait, Defaults().Reminders.Wait)
	e.options = o
	e.texts = texts
	e.revised = true
	return nil
}

// Step handles one event and returns the actions that follow at once.
func (e *Engine) Step(ev Event) []Action {
	if ev.Agent == "" || ev.Kind < EventSeen || ev.Kind > EventRead {
		return nil
	}
	a := e.agent(ev.Agent)
	// An event without a time counts as newer than all events before it, as
	// records of a file are.
	ev.at = cmp.Or(transcript.InstantOf(ev.At), a.Clock+1)
	ev.Reading.At = ev.at
	// EventActive has the observer's time, which may be much later than the
	// records around it. Records without a stamp follow the record before them.
	if ev.Kind != EventActive {
		a.Clock = max(a.Clock, ev.at)
	}
	e.newest = max(e.newest, ev.at)
	t := ev.at
	e.changed[a.Agent] = true
	e.out = nil
	if ev.Kind == EventSeen {
		a.Parent = ev.Parent
		a.Name = ev.Name
	}
	e.updateMuted(a, t)
	e.lapse(a, t)
	cycle := a.Cycle
	compacting := a.Compacting
	switch ev.Kind {
	case EventReading:
		e.read(a, &ev)
	case EventCompacting:
		e.begin(a, &ev)
	case EventCompacted:
		e.compacted(a, &ev)
	case EventReset:
		e.reset(a, &ev)
	case EventTurnStart:
		a.startTurn(t)
	case EventTurnEnd:
		a.endTurn(t)
	case EventActive:
		a.activate(ev.On, t)
		e.remindAlways(a, t)
	case EventAlert:
		e.alert(a, ev.Notice, t)
	case EventRead:
		k := ev.Notice
		if k < Kinds && a.Sent[k].At != 0 && a.Sent[k].Key.Cycle == ev.Cycle {
			a.Sent[k].Read = t
		}
	}
	switch {
	case a.Compacting && !compacting:
		e.skipReminders(a)
	case compacting && !a.Compacting, a.Cycle != cycle:
		e.restartReminders(a, t)
	}
	return e.out
}

// Tick returns the actions that are due by now, and the time of the next call,
// zero if no action can follow. Call it before the first Step. When now is more
// than 30 s behind the newest event, the clock has been set back; later stamps
// then count as now, since events would otherwise be ignored until the clock
// has caught up.
func (e *Engine) Tick(now time.Time) (actions []Action, next time.Time) {
	e.out = nil
	e.SetClock(now)
	var first Instant
	for _, a := range e.sorted() {
		if e.revised {
			e.revise(a)
			e.remindAlways(a, e.now)
		}
		e.updateMuted(a, e.now)
		e.sendUnsent(a)
		e.lapse(a, e.now)
		if t := e.noDataDue(a); t != 0 && e.now >= t {
			e.sendNoData(a, t)
		}
		first = sooner(first, sooner(e.lapses(a), e.noDataDue(a)))
	}
	e.revised = false
	first = sooner(first, e.remind())
	return e.out, first.Time()
}

// sooner returns the earlier of two times; 0 is never.
func sooner(a, b Instant) Instant {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// SetClock sets the time without acting on it. It is for replaying events from
// before a start.
func (e *Engine) SetClock(at time.Time) {
	now := transcript.InstantOf(at)
	if e.newest > now+skew {
		e.counters.ClockSteps++
		for id, a := range e.agents {
			setBack(reflect.ValueOf(a).Elem(), int64(now))
			e.changed[id] = true
		}
		for _, r := range e.reminders {
			r.Reset = min(r.Reset, now)
		}
		e.newest = now
		e.revised = true // another reading may be the current context now
	}
	e.now = now
}

// Forget drops an agent. If the agent returns, it begins with its first cycle
// and uses the same keys again, so the queue must forget its notices as well.
func (e *Engine) Forget(id string) {
	if e.agents[id] != nil {
		delete(e.agents, id)
		e.order = nil
		e.unlearn(id, "")
		e.changed[id] = true
	}
}

// Rename gives an agent another id and keeps its state. If the old id is
// unknown, or the agent with the new id has readings, it moves only the
// reminders and returns false.
func (e *Engine) Rename(from, to string) bool {
	delete(e.reminders, always+from)
	for _, r := range e.reminders {
		if r.Agent == from {
			r.Agent = to
		}
	}
	a := e.agents[from]
	if a == nil {
		return false
	}
	e.unlearn(from, to)
	e.Forget(from)
	named := cmp.Or(e.agents[to], &AgentState{})
	a.Parent = named.Parent
	a.Name = named.Name
	a.Active = a.Active || named.Active
	a.Turned = max(a.Turned, named.Turned)
	if named.Data != 0 || named.Cycle > 1 {
		named.Active = a.Active
		named.Turned = a.Turned
		a = named
	}
	for k := range a.Sent {
		if key := &a.Sent[k].Key; key.Agent == from {
			key.Agent = to
		}
	}
	a.Agent = to
	e.agents[to] = a
	e.changed[to] = true
	e.remindAlways(a, e.now)
	return a != named
}

// Take calls put with a copy of each agent that has changed since the last
// Take, in the order of the ids, and with nil for each agent that was
// forgotten. It reports whether agents or reminders have changed; only then
// rest has the state without agents.
func (e *Engine) Take(put func(id string, a *AgentState)) (rest State, changed bool) {
	reminded := Changes(e.reminders, e.taken, func(string, *Reminder) {})
	changed = reminded || len(e.changed) > 0
	for _, id := range slices.Sorted(maps.Keys(e.changed)) {
		put(id, e.agents[id].clone())
	}
	clear(e.changed)
	if changed {
		rest = State{
			Now:       e.now,
			Learned:   e.Learned(),
			Counters:  e.counters,
			Reminders: e.Reminders(""),
		}
	}
	return rest, changed
}

// Restore replaces the state and takes ownership of the agents of s. If the
// settings have changed since, they apply as after Configure.
func (e *Engine) Restore(s State) {
	e.now = s.Now
	e.newest = 0
	e.counters = s.Counters
	e.revised = true
	e.agents = map[string]*AgentState{}
	e.order = nil
	e.changed = map[string]bool{}
	for _, a := range s.Agents {
		e.agents[a.Agent] = a
		e.newest = max(e.newest, a.Clock)
	}
	e.reminders = map[string]*Reminder{}
	e.taken = map[string]Reminder{}
	for _, r := range s.Reminders {
		e.reminders[r.ID] = &r
		e.taken[r.ID] = r
	}
	e.learned = map[Clients][]int64{}
	for _, l := range s.Learned {
		e.Learn(l)
	}
}

// agent returns the agent, which it creates if it is new.
func (e *Engine) agent(id string) *AgentState {
	if a := e.agents[id]; a != nil {
		return a
	}
	a := &AgentState{
		Agent:   id,
		Cycle:   1,
		Opening: Opening{Made: transcript.Unknown},
		Muted:   e.options.Disabled,
		Trigger: transcript.Unknown,
	}
	e.agents[id] = a
	e.order = nil
	return a
}

// sorted returns the agents by id, so that every run handles them in the same
// order.
func (e *Engine) sorted() []*AgentState {
	if e.order == nil {
		for _, id := range slices.Sorted(maps.Keys(e.agents)) {
			e.order = append(e.order, e.agents[id])
		}
	}
	return e.order
}

// present reports whether the reading of an agent is current: its client runs,
// or the reading is recent.
func (e *Engine) present(a *AgentState, t Instant) bool {
	r, known := a.current()
	return known && (a.Active || r.At+recent >= max(e.now, t))
}

// Counters returns the counters.
func (e *Engine) Counters() Counters { return e.counters }

// IDs returns the ids of all agents.
func (e *Engine) IDs() []string { return slices.Sorted(maps.Keys(e.agents)) }

// AtWork returns the agents whose clients run.
func (e *Engine) AtWork() []string { return e.where(func(a *AgentState) bool { return a.Active }) }

// where returns the ids of the agents that satisfy is.
func (e *Engine) where(is func(*AgentState) bool) (ids []string) {
	for _, a := range e.sorted() {
		if is(a) {
			ids = append(ids, a.Agent)
		}
	}
	return ids
}

// OpenReports returns the keys of the notices about an agent to others that
// were not withdrawn and may still be queued. After a rewind they may be of
// earlier cycles.
func (e *Engine) OpenReports(id string) (keys []Key) {
	if a := e.agents[id]; a != nil {
		for _, k := range [...]Kind{KindCompacted, KindStorm} {
			if s := a.Sent[k]; s.Open {
				keys = append(keys, s.Key)
			}
		}
	}
	return keys
}

// Forgotten returns the agents without an event since the given time whose
// clients do not run.
func (e *Engine) Forgotten(since time.Time) []string {
	cut := transcript.InstantOf(since)
	return e.where(func(a *AgentState) bool { return a.Clock < cut && !a.Active })
}
