package observer

import (
	"context"
	"errors"
	"net/http"
	"time"

	"sm/alerts"
	"sm/observer/api"
	"sm/observer/respond"
	"sm/observer/wire"
)

func (a *App) getReminders(w http.ResponseWriter, r *http.Request) error {
	return a.listReminders(
		w,
		r,
		func(c *core) (alerts.AgentID, error) { return c.fleet.Agent(r.PathValue("id"), false) },
	)
}

func (a *App) getAllReminders(w http.ResponseWriter, r *http.Request) error {
	return a.listReminders(w, r, func(*core) (alerts.AgentID, error) { return "", nil })
}

func (a *App) listReminders(w http.ResponseWriter, r *http.Request, of func(*core) (alerts.AgentID, error)) error {
	answer := api.Reminders{Reminders: []api.Reminder{}}
	err := a.ask(r.Context(), func(c *core) error {
		agent, err := of(c)
		if err != nil {
			return err
		}
		for _, x := range c.engine.Reminders(agent) {
			answer.Reminders = append(answer.Reminders, c.reminderOf(x, time.Now()))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return respond.JSON(w, http.StatusOK, answer)
}

// postReminder adds a reminder. The status 201 means that it is stored.
func (a *App) postReminder(w http.ResponseWriter, r *http.Request) error {
	now := time.Now()
	var in api.NewReminder
	if err := respond.ReadJSON(
		r,
		&in,
		"not a reminder; send JSON such as {\"text\":\"Look at CI.\",\"in_seconds\":600}",
	); err != nil {
		return err
	}
	x, text := wire.NewReminder(&in, a.settings.Load().Queue.MessageBytes, now)
	if text != "" {
		return respond.Refuse(http.StatusUnprocessableEntity, text)
	}
	err := a.update(r.Context(), func(c *core) (err error) {
		if x.Agent, err = c.fleet.Agent(r.PathValue("id"), false); err != nil {
			return err
		}
		if len(c.engine.Reminders(x.Agent)) >= respond.MaxReminders {
			return respond.ErrManyReminders
		}
		err = c.engine.Remind(x)
		c.next = now // ask it soon
		return err
	})
	if errors.Is(err, respond.ErrNotStored) { // the caller does not have its id
		_ = a.do(context.WithoutCancel(r.Context()), func(c *core) { c.engine.CancelReminder(x.ID, "") })
	}
	if err != nil {
		return err
	}
	return respond.JSON(w, http.StatusCreated, wire.Reminder(x))
}

// deleteReminder drops one reminder; "all" is each of the agent's.
func (a *App) deleteReminder(w http.ResponseWriter, r *http.Request) error {
	now := time.Now()
	id := r.PathValue("reminder")
	dropped := api.Reminders{Reminders: []api.Reminder{}}
	err := a.update(r.Context(), func(c *core) error {
		agent, err := c.fleet.Agent(r.PathValue("id"), false)
		if err != nil {
			return err
		}
		for _, x := range c.engine.Reminders(agent) {
			if id == "all" || id == x.ID {
				c.unsay(agent, x.ID, now)
				for _, gone := range c.engine.CancelReminder(x.ID, "") {
					dropped.Reminders = append(dropped.Reminders, wire.Reminder(gone))
				}
			}
		}
		if len(dropped.Reminders) == 0 && id != "all" {
			return respond.ErrNoReminder
		}
		return nil
	})
	if err != nil {
		return err
	}
	return respond.JSON(w, http.StatusOK, dropped)
}

// resetReminders begins the time of an agent's periodic reminders anew.
func (a *App) resetReminders(w http.ResponseWriter, r *http.Request) error {
	now := time.Now()
	n := 0
	err := a.update(r.Context(), func(c *core) error {
		agent, err := c.fleet.Agent(r.PathValue("id"), false)
		if err != nil {
			return err
		}
		for _, x := range c.engine.Reminders(agent) {
			if x.Periodic() {
				c.unsay(agent, x.ID, now)
			}
		}
		n = c.engine.ResetReminders(agent, now)
		return nil
	})
	if err != nil {
		return err
	}
	return respond.JSON(w, http.StatusOK, api.Reset{Reset: n})
}
