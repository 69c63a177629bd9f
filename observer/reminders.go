package observer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/observer/api"
	"sm/observer/wire"
	"sm/transcript/wording"
)

// remind puts a reminder that is due into the queue. Each saying has a name of its own,
// so that none is put there twice.
func (p *rules) remind(r *alerts.Remind, now time.Time) {
	if r.Forced {
		p.log.Warn("a reminder does not wait any longer for the end of a compaction", "agent", r.Reminder.Agent, "id", r.Reminder.ID, "late", r.Late)
	}
	if p.dryRun {
		p.log.Info("reminder", "agent", r.Reminder.Agent, "id", r.Reminder.ID, "mode", r.Mode, "dry_run", true)
		return
	}
	if agent, err := p.fleet.Agent(string(r.Reminder.Agent), true); err == nil {
		r.Reminder.Agent = agent
	}
	p.unsay(r.Reminder.Agent, r.Reminder.ID, now) // the newest saying stands for those before
	_, err := p.queue.Put(outbox.Message{
		To: r.Reminder.Agent, From: r.Reminder.From, Ref: saying(&r.Reminder), Mode: r.Mode, Text: wording.Remind + r.Reminder.Text,
		OwnWords: r.Reminder.Own(), Unmetered: true,
	}, now)
	if err != nil {
		p.log.Error("a reminder cannot be queued", "agent", r.Reminder.Agent, "id", r.Reminder.ID, "err", err)
	}
}

// sayings begin the names of what reminders have said.
const sayings = "reminder/"

func saying(r *alerts.Reminder) string { return fmt.Sprintf("%s%s/%d", sayings, r.ID, r.Times) }

// skip takes back what periodic reminders have said: their agent begins to compact.
func (p *rules) skip(s *alerts.Skip, now time.Time) {
	for _, id := range s.Reminders {
		p.engine.Skipped(p.unsay(s.Agent, id, now))
	}
}

// unsay takes back what a reminder has said and nobody has got yet.
func (p *rules) unsay(agent alerts.AgentID, id string, now time.Time) (n int) {
	for _, m := range p.queue.Of(agent) {
		if (m.State == outbox.Waiting || m.Calling) && strings.HasPrefix(m.Ref, sayings+id+"/") {
			if _, err := p.queue.Cancel(agent, m.ID, now); err != nil {
				p.log.Debug("a reminder cannot be taken back", "id", m.ID, "err", err)
				continue
			}
			n++
		}
	}
	return n
}

func (s *server) getReminders(w http.ResponseWriter, r *http.Request) error {
	return s.listReminders(w, r, func(c *core) (alerts.AgentID, error) { return c.fleet.Agent(r.PathValue("id"), false) })
}

func (s *server) getAllReminders(w http.ResponseWriter, r *http.Request) error {
	return s.listReminders(w, r, func(*core) (alerts.AgentID, error) { return "", nil })
}

func (s *server) listReminders(w http.ResponseWriter, r *http.Request, of func(*core) (alerts.AgentID, error)) error {
	answer := api.Reminders{Reminders: []api.Reminder{}}
	err := s.ask(r.Context(), func(c *core) error {
		agent, err := of(c)
		if err != nil {
			return err
		}
		for _, x := range c.engine.Reminders(agent) {
			answer.Reminders = append(answer.Reminders, c.rules.reminder(x, time.Now()))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return answerJSON(w, http.StatusOK, answer)
}

// reminder is a reminder as the API tells it, with what keeps it back.
func (p *rules) reminder(r alerts.Reminder, now time.Time) api.Reminder {
	out := wire.Reminder(r)
	v, known := p.engine.Agent(r.Agent)
	if known && v.Compacting && out.DueAt != nil && !now.Before(*out.DueAt) {
		out.State = api.ReminderHeld
	}
	return out
}

// postReminder takes a reminder: 201 says that it is stored.
func (s *server) postReminder(w http.ResponseWriter, r *http.Request) error {
	now := time.Now()
	var in api.NewReminder
	if err := readJSON(r, &in, "not a reminder; send JSON such as {\"text\":\"Look at CI.\",\"in_seconds\":600}"); err != nil {
		return err
	}
	x, text := wire.NewReminder(&in, s.settings.Load().Queue.MessageBytes, now)
	if text != "" {
		return refuse(http.StatusUnprocessableEntity, text)
	}
	err := s.update(r.Context(), func(c *core) (err error) {
		if x.Agent, err = c.fleet.Agent(r.PathValue("id"), false); err != nil {
			return err
		}
		if len(c.engine.Reminders(x.Agent)) >= maxReminders {
			return errManyReminders
		}
		err = c.engine.Remind(x)
		c.rules.next = now // ask it soon
		return err
	})
	if errors.Is(err, errNotStored) { // nobody will ask for it again under this name
		_ = s.do(context.WithoutCancel(r.Context()), func(c *core) { c.engine.CancelReminder(x.ID, "") })
	}
	if err != nil {
		return err
	}
	return answerJSON(w, http.StatusCreated, wire.Reminder(x))
}

// maxReminders bounds the reminders of one agent.
const maxReminders = 50

// Errors about reminders.
var (
	errManyReminders = fmt.Errorf("the agent has %d reminders already: cancel some", maxReminders)
	errNoReminder    = errors.New("the agent has no such reminder; sm reminders lists them")
)

// deleteReminder drops one reminder; "all" is each of the agent's.
func (s *server) deleteReminder(w http.ResponseWriter, r *http.Request) error {
	now, id := time.Now(), r.PathValue("reminder")
	dropped := api.Reminders{Reminders: []api.Reminder{}}
	err := s.update(r.Context(), func(c *core) error {
		agent, err := c.fleet.Agent(r.PathValue("id"), false)
		if err != nil {
			return err
		}
		for _, x := range c.engine.Reminders(agent) {
			if id == "all" || id == x.ID {
				c.rules.unsay(agent, x.ID, now)
				for _, gone := range c.engine.CancelReminder(x.ID, "") {
					dropped.Reminders = append(dropped.Reminders, wire.Reminder(gone))
				}
			}
		}
		if len(dropped.Reminders) == 0 && id != "all" {
			return errNoReminder
		}
		return nil
	})
	if err != nil {
		return err
	}
	return answerJSON(w, http.StatusOK, dropped)
}

// resetReminders begins the time of an agent's periodic reminders anew.
func (s *server) resetReminders(w http.ResponseWriter, r *http.Request) error {
	now, n := time.Now(), 0
	err := s.update(r.Context(), func(c *core) error {
		agent, err := c.fleet.Agent(r.PathValue("id"), false)
		if err != nil {
			return err
		}
		for _, x := range c.engine.Reminders(agent) {
			if x.Periodic() {
				c.rules.unsay(agent, x.ID, now)
			}
		}
		n = c.engine.ResetReminders(agent, now)
		return nil
	})
	if err != nil {
		return err
	}
	return answerJSON(w, http.StatusOK, api.Reset{Reset: n})
}
