package alerts

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"sm/transcript"
)

// Reminder is a text for an agent. It is sent once, at Due, or periodically,
// Soft and Hard after the last reset.
type Reminder struct {
	ID    string
	Agent string
	From  string // the agent that added it, "" for the configuration
	Text  string
	Made  Instant
	// Due is the time of a single reminder, 0 for a periodic one.
	Due Instant
	// Soft and Hard count from Reset; 0: never.
	Soft, Hard Instant
	Reset      Instant
	// SoftSaid and HardSaid record which reminders were sent since the last
	// reset. Times counts all deliveries and makes their names unique.
	SoftSaid, HardSaid bool
	Times              int
}

// Periodic reports whether the reminder is repeated after each reset.
func (r *Reminder) Periodic() bool { return r.Due == 0 }

// Remind is a reminder for delivery.
type Remind struct {
	Reminder Reminder
	Mode     Mode // Important after Soft, else Urgent
	// Late is the delay of a single reminder while its agent compacted or sm
	// was not running. Forced means that the agent is still compacting.
	Late   time.Duration
	Forced bool
}

// Skip withdraws undelivered reminders: periodic ones of an agent that compacts,
// which restarts their time, or one of the configuration that was removed.
type Skip struct {
	Agent     string
	Reminders []string // ids
}

// ErrReminder means that a reminder is invalid.
var ErrReminder = errors.New("a reminder is either at a time to come or has a soft or hard interval, of which hard is not the shorter; give one or the other")

// Remind adds a reminder and replaces one with the same id. Tick returns it
// when it is due.
func (e *Engine) Remind(r Reminder) error {
	periodic := r.Soft > 0 || r.Hard > 0
	if r.Agent == "" || r.ID == "" || r.Soft < 0 || r.Hard < 0 || r.Due < 0 ||
		periodic == (r.Due > 0) ||
		r.Soft > 0 && r.Hard > 0 && r.Hard < r.Soft {
		return ErrReminder
	}
	r.Reset = cmp.Or(r.Reset, r.Made)
	e.reminders[r.ID] = &r
	return nil
}

// CancelReminder drops a reminder.
func (e *Engine) CancelReminder(id string) {
	if e.reminders[id] != nil {
		delete(e.reminders, id)
		e.counters.Reminders[ReminderCancelled]++
	}
}

// ResetReminders restarts the time of an agent's periodic reminders after
// activity of the agent. It returns their number.
func (e *Engine) ResetReminders(agent string, now time.Time) (n int) {
	t := transcript.InstantOf(now)
	for _, r := range e.reminders {
		if r.Agent != agent || !r.Periodic() {
			continue
		}
		n++
		if t >= r.Reset {
			r.Reset = t
			r.SoftSaid = false
			r.HardSaid = false
		}
	}
	return n
}

// Reminders returns the reminders of an agent, or all for "", sorted by id.
func (e *Engine) Reminders(agent string) (list []Reminder) {
	for _, id := range slices.Sorted(maps.Keys(e.reminders)) {
		if r := e.reminders[id]; agent == "" || r.Agent == agent {
			list = append(list, *r)
		}
	}
	return list
}

// ReminderOutcome is the result of a reminder that was due.
type ReminderOutcome uint8

// The outcomes.
const (
	ReminderSent ReminderOutcome = iota
	ReminderLate
	ReminderSkipped
	ReminderCancelled
	reminderOutcomes
)

// String returns the outcome as metrics write it.
func (o ReminderOutcome) String() string {
	return Word(o, "sent", "late", "skipped", "cancelled")
}

// lateReminder is the delay from which a reminder counts as late.
const lateReminder = Instant(30 * time.Second)

// next returns when a reminder is due, 0 for never, and its urgency.
func (r *Reminder) next(now Instant) (due Instant, mode Mode) {
	hard := r.Reset + r.Hard
	soft := r.Soft > 0 && !r.SoftSaid
	switch {
	case !r.Periodic():
		return r.Due, Urgent
	case r.Hard > 0 && !r.HardSaid && (now >= hard || !soft): // it replaces a soft reminder
		return hard, Urgent
	case soft:
		return r.Reset + r.Soft, Important
	}
	return 0, Sequential
}

// remind handles the reminders that are due, and returns when the next one is,
// 0 for never. A single reminder waits while its agent compacts, but at most
// for Options.Reminders.Wait. A reminder of the configuration waits until its
// agent can be reached.
func (e *Engine) remind() (next Instant) {
	for _, id := range slices.Sorted(maps.Keys(e.reminders)) {
		r := e.reminders[id]
		a := e.agents[r.Agent]
		compacting := a != nil && a.Compacting
		if compacting && r.Periodic() || r.Own() && !e.reaches(r.Agent) {
			continue // the end of the compaction restarts the time
		}
		due, mode := r.next(e.now)
		late := e.now - due
		if compacting && late >= 0 {
			due += Instant(e.options.Reminders.Wait)
		}
		if due == 0 || e.now < due {
			next = sooner(next, due)
			continue
		}
		r.Times++
		r.SoftSaid = true
		r.HardSaid = mode == Urgent
		if r.Periodic() {
			late = 0
			due, _ = r.next(e.now)
			next = sooner(next, due)
		} else {
			delete(e.reminders, id)
		}
		outcome := ReminderSent
		if late > lateReminder {
			outcome = ReminderLate
		}
		e.counters.Reminders[outcome]++
		e.out = append(e.out, Remind{
			Reminder: *r,
			Mode:     mode,
			Late:     time.Duration(late),
			Forced:   compacting,
		})
	}
	return next
}

// always is the prefix of the ids of reminders from the configuration.
const always = "always-"

// Own reports whether the reminder is from the configuration, and so has sm's
// own text.
func (r *Reminder) Own() bool { return strings.HasPrefix(r.ID, always) }

// remindAlways adds the configuration's reminder for an active agent or sets
// its times, and removes it for an inactive agent.
func (e *Engine) remindAlways(a *AgentState, t Instant) {
	o := e.options.Reminders
	id := always + a.Agent
	r := e.reminders[id]
	switch wanted := a.Active && (o.Soft > 0 || o.Hard > 0); {
	case wanted && r != nil:
		r.Soft = Instant(o.Soft)
		r.Hard = Instant(o.Hard)
	case wanted: // the settings have been checked
		_ = e.Remind(Reminder{
			ID:    id,
			Agent: a.Agent,
			Text:  remindText,
			Made:  t,
			Soft:  Instant(o.Soft),
			Hard:  Instant(o.Hard),
		})
	case r != nil:
		delete(e.reminders, id)
		e.out = append(e.out, Skip{a.Agent, []string{id}})
	}
}

// remindText is the reminder of the configuration.
const remindText = "Report how far you are, or run sm reminders reset."

// Skipped counts reminders that were withdrawn unread.
func (e *Engine) Skipped(n int) { e.counters.Reminders[ReminderSkipped] += uint64(n) }

// skipReminders withdraws the undelivered periodic reminders of an agent that
// begins a compaction or a cycle.
func (e *Engine) skipReminders(a *AgentState) {
	var skipped []string
	for _, r := range e.Reminders(a.Agent) {
		if r.Periodic() && (r.SoftSaid || r.HardSaid) {
			skipped = append(skipped, r.ID)
		}
	}
	if skipped != nil {
		e.out = append(e.out, Skip{a.Agent, skipped})
	}
}

// restartReminders restarts the time of an agent's periodic reminders after a
// compaction or when a cycle begins.
func (e *Engine) restartReminders(a *AgentState, t Instant) {
	e.skipReminders(a)
	e.ResetReminders(a.Agent, max(t, e.now).Time())
}
