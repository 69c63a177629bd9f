package observer

import (
	"net/http"
	"time"

	"sm/observer/api"
	"sm/observer/respond"
	"sm/observer/wire"
)

// getReminders lists the reminders of an agent, or all without one.
func (c *core) getReminders(agent string, _ *http.Request) (any, error) {
	all := api.Reminders{Reminders: []api.Reminder{}}
	for _, x := range c.engine.Reminders(agent) {
		all.Reminders = append(all.Reminders, c.reminderOf(x, time.Now()))
	}
	return all, nil
}

// postReminder adds a reminder.
func (c *core) postReminder(agent string, r *http.Request) (any, error) {
	now := time.Now()
	var in api.NewReminder
	const hint = `not a reminder; send JSON such as {"text":"Look at CI.","in_seconds":600}`
	if err := respond.ReadJSON(r, &in, hint); err != nil {
		return nil, err
	}
	x, problem := wire.NewReminder(&in, c.settings.Queue.MessageBytes, now)
	if problem != "" {
		return nil, respond.Refuse(http.StatusUnprocessableEntity, problem)
	}
	x.Agent = agent
	if len(c.engine.Reminders(x.Agent)) >= respond.MaxReminders {
		return nil, respond.ErrManyReminders
	}
	err := c.engine.Remind(x)
	c.next = now // ask it soon
	c.undo = func() { c.engine.CancelReminder(x.ID, "") }
	return wire.Reminder(x), err
}

// deleteReminder drops one reminder; "all" is each of the agent's.
func (c *core) deleteReminder(agent string, r *http.Request) (any, error) {
	id := r.PathValue("reminder")
	dropped := api.Reminders{Reminders: []api.Reminder{}}
	for _, x := range c.engine.Reminders(agent) {
		if id == "all" || id == x.ID {
			c.takeBack(agent, sayings+x.ID+"/", time.Now())
			c.engine.CancelReminder(x.ID, "")
			dropped.Reminders = append(dropped.Reminders, wire.Reminder(x))
		}
	}
	if len(dropped.Reminders) == 0 && id != "all" {
		return nil, respond.ErrNoReminder
	}
	return dropped, nil
}

// resetReminders begins the time of an agent's periodic reminders anew.
func (c *core) resetReminders(agent string, _ *http.Request) (any, error) {
	now := time.Now()
	for _, x := range c.engine.Reminders(agent) {
		if x.Periodic() {
			c.takeBack(agent, sayings+x.ID+"/", now)
		}
	}
	return api.Reset{Reset: c.engine.ResetReminders(agent, now)}, nil
}
