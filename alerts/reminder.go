package alerts

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"sm/transcript"
)

// Reminder is a text that an agent is to hear later: once, at Due, or again and again,
// when nothing has reset it for Soft, and for Hard. It is a plain value.
type Reminder struct {
	ID    string
	Agent AgentID
	From  string // who asked for it, "" for the configuration
	Text  string
	Made  Instant
	// Due is when a single one is to be heard, 0 for a periodic one.
	Due Instant
	// Soft and Hard count from Reset; 0: never.
	Soft, Hard Instant
	Reset      Instant
	// SoftSaid and HardSaid hold until the next reset. Times counts both, so that each
	// saying has a name of its own.
	SoftSaid, HardSaid bool
	Times              int
}

// Periodic says whether the reminder comes again after each reset.
func (r *Reminder) Periodic() bool { return r.Due == 0 }

// Remind is a reminder to be delivered.
type Remind struct {
	Reminder Reminder
	Mode     Mode // Important for soft ones and those at a time, Urgent for hard ones
	// Late is by how much a single one comes later than it was due, because its agent
	// compacted or nobody was there to say it; Forced says that the agent still compacts.
	Late   time.Duration
	Forced bool
}

// Skip takes back what a periodic reminder has said and has not been delivered: the
// agent compacts, and hears it when it has had its time anew.
type Skip struct {
	Agent     AgentID
	Reminders []string // ids
}

func (Remind) action() {}
func (Skip) action()   {}

// ErrReminder is what a reminder without a sense answers.
var ErrReminder = errors.New("a reminder is either at a time to come or has a soft or hard interval; hard comes after soft")

// Remind adds a reminder, in place of one with the same id. It comes out of a Tick.
func (e *Engine) Remind(r Reminder) error {
	periodic := r.Soft > 0 || r.Hard > 0
	if r.Agent == "" || r.ID == "" || r.Soft < 0 || r.Hard < 0 || r.Due < 0 || periodic == (r.Due > 0) || r.Soft > 0 && r.Hard > 0 && r.Hard < r.Soft {
		return ErrReminder
	}
	r.Reset = cmp.Or(r.Reset, r.Made)
	e.unremind(r.ID)
	i, _ := slices.BinarySearchFunc(e.reminders, r.ID, byReminder)
	e.reminders = slices.Insert(e.reminders, i, r)
	e.reminded = true
	return nil
}

func byReminder(r Reminder, id string) int { return cmp.Compare(r.ID, id) }

// CancelReminder drops a reminder, or all of an agent's where agent is given; it returns
// those dropped.
func (e *Engine) CancelReminder(id string, agent AgentID) (dropped []Reminder) {
	e.reminders = slices.DeleteFunc(e.reminders, func(r Reminder) bool {
		if r.ID == id || agent != "" && r.Agent == agent {
			dropped = append(dropped, r)
			return true
		}
		return false
	})
	e.reminded = e.reminded || dropped != nil
	e.counters.Reminders[ReminderCancelled] += uint64(len(dropped))
	return dropped
}

func (e *Engine) unremind(id string) {
	e.reminders = slices.DeleteFunc(e.reminders, func(r Reminder) bool { return r.ID == id })
}

// ResetReminders begins the time of an agent's periodic reminders anew: it has shown
// that it is at work.
func (e *Engine) ResetReminders(agent AgentID, now time.Time) (n int) {
	t := transcript.InstantOf(now)
	for i := range e.reminders {
		if r := &e.reminders[i]; r.Agent == agent && r.Periodic() {
			r.reset(t)
			n++
		}
	}
	e.reminded = e.reminded || n > 0
	return n
}

func (r *Reminder) reset(t Instant) {
	if t >= r.Reset {
		r.Reset, r.SoftSaid, r.HardSaid = t, false, false
	}
}

// Reminders lists those of an agent, or of all for "", by id.
func (e *Engine) Reminders(agent AgentID) (list []Reminder) {
	for _, r := range e.reminders {
		if agent == "" || r.Agent == agent {
			list = append(list, r)
		}
	}
	return list
}

// Reminded reports whether reminders have changed since the last Take.
func (e *Engine) Reminded() bool { return e.reminded }

// ReminderOutcome says what became of a reminder that was due.
type ReminderOutcome uint8

// The outcomes.
const (
	ReminderSent ReminderOutcome = iota
	ReminderLate
	ReminderSkipped
	ReminderCancelled
	reminderOutcomes
)

// String is the outcome as metrics write it.
func (o ReminderOutcome) String() string {
	return Word(o, "sent", "late", "skipped", "cancelled")
}

// remind says what is due, and when the next one is, 0 for never.
func (e *Engine) remind() (next Instant) {
	e.reminders = slices.DeleteFunc(e.reminders, func(r Reminder) bool {
		if r.Periodic() {
			return false
		}
		said, again := e.once(&r)
		next = sooner(next, again)
		return said
	})
	for i := range e.reminders {
		if r := &e.reminders[i]; r.Periodic() {
			next = sooner(next, e.again(r))
		}
	}
	return next
}

// once says a reminder at its time; while its agent compacts it waits, but not for long.
func (e *Engine) once(r *Reminder) (said bool, next Instant) {
	if e.now < r.Due {
		return false, r.Due
	}
	compacting := e.compacting(r.Agent)
	limit := r.Due + Instant(e.options.Reminders.Wait)
	if compacting && e.now < limit {
		return false, limit
	}
	late := e.now - r.Due
	outcome := ReminderSent
	if late > lateReminder {
		outcome = ReminderLate
	}
	e.counters.Reminders[outcome]++
	e.reminded = true
	r.Times++
	e.out = append(e.out, Remind{Reminder: *r, Mode: Urgent, Late: time.Duration(late), Forced: compacting})
	return true, 0
}

// lateReminder is from when on a reminder counts as late.
const lateReminder = Instant(30 * time.Second)

// again says a periodic reminder whose time has come.
func (e *Engine) again(r *Reminder) (next Instant) {
	if e.compacting(r.Agent) {
		return 0 // its time begins anew when that ends
	}
	say := func(mode Mode) {
		r.Times++
		e.counters.Reminders[ReminderSent]++
		e.reminded = true
		e.out = append(e.out, Remind{Reminder: *r, Mode: mode})
	}
	switch {
	case r.Hard > 0 && !r.HardSaid && e.now >= r.Reset+r.Hard:
		r.HardSaid, r.SoftSaid = true, true // the hard one stands for both
		say(Urgent)
	case r.Soft > 0 && !r.SoftSaid && e.now >= r.Reset+r.Soft:
		r.SoftSaid = true
		say(Important)
	}
	switch {
	case r.Soft > 0 && !r.SoftSaid:
		next = r.Reset + r.Soft
	case r.Hard > 0 && !r.HardSaid:
		next = r.Reset + r.Hard
	}
	return next
}

// always is how the ids of reminders begin that the configuration asks for.
const always = "always-"

// Own says whether the reminder is the configuration's, in sm's own words.
func (r *Reminder) Own() bool { return strings.HasPrefix(r.ID, always) }

// remindAlways gives an agent that is at work the reminder of the configuration, and
// takes it from one that is not.
func (e *Engine) remindAlways(a *AgentState, t Instant) {
	o, id := e.options.Reminders, always+string(a.Agent)
	_, has := slices.BinarySearchFunc(e.reminders, id, byReminder)
	switch wanted := a.Active && (o.Soft > 0 || o.Hard > 0); {
	case wanted && !has:
		// The settings have been checked.
		_ = e.Remind(Reminder{ID: id, Agent: a.Agent, Text: remindText, Made: t, Soft: Instant(o.Soft), Hard: Instant(o.Hard)})
	case has && !wanted:
		e.unremind(id)
		e.reminded = true
	}
}

// renameReminders gives the reminders of one agent to another. The one that the
// configuration asks for the other has, or gets, under its own id.
func (e *Engine) renameReminders(from, to AgentID) {
	e.unremind(always + string(from))
	for i := range e.reminders {
		if r := &e.reminders[i]; r.Agent == from {
			r.Agent, e.reminded = to, true
		}
	}
}

// remindText is what an agent hears that has not called sm for long.
const remindText = "Report how far you are, or run sm reminders reset."

func (e *Engine) compacting(id AgentID) bool {
	a := e.agents[id]
	return a != nil && a.Compacting
}

// Skipped counts reminders that were said and taken back unheard.
func (e *Engine) Skipped(n int) { e.counters.Reminders[ReminderSkipped] += uint64(n) }

// quiet takes back what periodic reminders of an agent have said and nobody has heard:
// it begins to compact, or anew.
func (e *Engine) quiet(a *AgentState) {
	var skipped []string
	for i := range e.reminders {
		if r := &e.reminders[i]; r.Agent == a.Agent && r.Periodic() && (r.SoftSaid || r.HardSaid) {
			skipped = append(skipped, r.ID)
		}
	}
	if skipped != nil {
		e.out = append(e.out, Skip{a.Agent, skipped})
	}
}

// wake begins the time of an agent's periodic reminders anew: a new cycle, or the end of
// a compaction.
func (e *Engine) wake(a *AgentState, t Instant) {
	e.quiet(a)
	e.ResetReminders(a.Agent, max(t, e.now).Time())
}
