package observer

import (
	"fmt"
	"net/http"
	"time"

	"sm/observer/api"
	"sm/observer/wire"
)

// maxReminders bounds the reminders of one agent.
const maxReminders = 50

// getReminders lists the reminders of an agent, or all without one.
func (c *core) getReminders(agent string, _ *http.Request) (any, error) {
	all := api.Reminders{Reminders: []api.Reminder{}}
	for _, x := range c.engine.Reminders(agent) {
		r := wire.Reminder(x)
		if c.engine.Agent(x.Agent).Compacting && r.DueAt != nil && !time.Now().Before(*r.DueAt) {
			r.State = api.ReminderHeld
		}
		all.Reminders = append(all.Reminders, r)
	}
	return all, nil
}

// postReminder adds a reminder.
func (c *core) postReminder(agent string, r *http.Request) (any, error) {
	now := time.Now()
	var in api.NewReminder
	const hint = `not a reminder; send JSON such as {"text":"Look at CI.","in_seconds":600}`
	if err := c.readText(r, &in, hint); err != nil {
		return nil, err
	}
	x, problem := wire.NewReminder(&in, c.settings.Queue.MessageBytes, now)
	if problem != "" {
		return nil, refuse(http.StatusUnprocessableEntity, problem)
	}
	x.Agent = agent
	if len(c.engine.Reminders(x.Agent)) >= maxReminders {
		return nil, refuse(
			http.StatusTooManyRequests,
			fmt.Sprintf("the agent has %d reminders already: cancel some", maxReminders),
		)
	}
	err := c.engine.Remind(x)
	c.next = now // run the engine soon
	c.undo = func() { c.engine.CancelReminder(x.ID) }
	return wire.Reminder(x), err
}

// deleteReminder cancels one reminder of an agent, or all of them for the id
// "all".
func (c *core) deleteReminder(agent string, r *http.Request) (any, error) {
	id := r.PathValue("reminder")
	dropped := api.Reminders{Reminders: []api.Reminder{}}
	for _, x := range c.engine.Reminders(agent) {
		if id == "all" || id == x.ID {
			c.takeBack(agent, sayings+x.ID+"/", time.Now())
			c.engine.CancelReminder(x.ID)
			dropped.Reminders = append(dropped.Reminders, wire.Reminder(x))
		}
	}
	if len(dropped.Reminders) == 0 && id != "all" {
		return nil, refuse(
			http.StatusNotFound,
			"the agent has no such reminder; sm reminders lists them",
		)
	}
	return dropped, nil
}

// resetReminders resets the timers of an agent's periodic reminders.
func (c *core) resetReminders(agent string, _ *http.Request) (any, error) {
	now := time.Now()
	for _, x := range c.engine.Reminders(agent) {
		if x.Periodic() {
			c.takeBack(agent, sayings+x.ID+"/", now)
		}
	}
	return api.Reset{Reset: c.engine.ResetReminders(agent, now)}, nil
}
