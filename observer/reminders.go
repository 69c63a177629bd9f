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

// getReminders lists the reminders of an agent, or all without one.
func (a *App) getReminders(w http.ResponseWriter, r *http.Request) error {
	return respondWith(a, w, r, func(c *core) (all api.Reminders, err error) {
		var agent alerts.AgentID
		if id := r.PathValue("id"); id != "" {
			if agent, err = c.fleet.Agent(id, false); err != nil {
				return all, err
			}
		}
		all.Reminders = []api.Reminder{}
		for _, x := range c.engine.Reminders(agent) {
			all.Reminders = append(all.Reminders, c.reminderOf(x, time.Now()))
		}
		return all, nil
	})
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
		_ = a.do(
			context.WithoutCancel(r.Context()),
			func(c *core) { c.engine.CancelReminder(x.ID, "") },
		)
	}
	if err != nil {
		return err
	}
	return respond.JSON(w, http.StatusCreated, wire.Reminder(x))
}

// deleteReminder drops one reminder; "all" is each of the agent's.
func (a *App) deleteReminder(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("reminder")
	return respondStored(a, w, r, http.StatusOK, func(c *core) (api.Reminders, error) {
		dropped := api.Reminders{Reminders: []api.Reminder{}}
		agent, err := c.fleet.Agent(r.PathValue("id"), false)
		if err != nil {
			return dropped, err
		}
		for _, x := range c.engine.Reminders(agent) {
			if id == "all" || id == x.ID {
				c.unsay(agent, x.ID, time.Now())
				for _, gone := range c.engine.CancelReminder(x.ID, "") {
					dropped.Reminders = append(dropped.Reminders, wire.Reminder(gone))
				}
			}
		}
		if len(dropped.Reminders) == 0 && id != "all" {
			return dropped, respond.ErrNoReminder
		}
		return dropped, nil
	})
}

// resetReminders begins the time of an agent's periodic reminders anew.
func (a *App) resetReminders(w http.ResponseWriter, r *http.Request) error {
	now := time.Now()
	return respondStored(a, w, r, http.StatusOK, func(c *core) (n api.Reset, err error) {
		agent, err := c.fleet.Agent(r.PathValue("id"), false)
		if err != nil {
			return n, err
		}
		for _, x := range c.engine.Reminders(agent) {
			if x.Periodic() {
				c.unsay(agent, x.ID, now)
			}
		}
		return api.Reset{Reset: c.engine.ResetReminders(agent, now)}, nil
	})
}
