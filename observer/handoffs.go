package observer

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"sm/handoff/rotation"
	"sm/observer/access"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/observer/respond"
	"sm/observer/wire"
)

// postHandoff schedules a handoff. The status 200 means that it is stored.
func (a *App) postHandoff(w http.ResponseWriter, r *http.Request) error {
	now := time.Now()
	var in api.NewHandoff
	hint := `not a handoff; send JSON such as {"requester_session_id":"em","file_path":"/home/dev/handoff.md"}`
	if err := respond.ReadJSON(
		r,
		&in,
		hint,
	); err != nil || in.Path == "" ||
		in.Requester == "" {
		return respond.Refuse(http.StatusBadRequest, hint)
	}
	line := a.line(r)
	var x rotation.Rotation
	err := a.ask(r.Context(), func(c *core) (err error) {
		x, err = c.requestHandoff(r.PathValue("id"), in, line, now)
		return err
	})
	if err != nil {
		return err
	}
	if unfit := a.fit(r.Context(), &x); unfit != nil {
		if err := a.do(r.Context(), func(c *core) { c.rotations.Refuse() }); err != nil {
			return err
		}
		return unfit
	}
	err = a.update(r.Context(), func(c *core) (err error) {
		x, err = c.scheduleHandoff(x, now)
		return err
	})
	if err != nil {
		return err
	}
	a.log.Info("handoff scheduled", "agent", x.Agent, "id", x.ID, "path", x.Path)
	return respond.JSON(w, http.StatusOK, api.Scheduled{
		Status: "scheduled",
		ID:     string(x.ID),
	})
}

func (a *App) line(r *http.Request) (l callers) {
	if a.o.Ancestry == nil {
		return l
	}
	pid, err := access.PeerPID(r.Context())
	if err != nil {
		return l
	}
	return callers{a.o.Ancestry(pid), true}
}

func (c *core) getHandoffs(*http.Request) (any, error) {
	all := api.Handoffs{Handoffs: []api.Handoff{}}
	for _, x := range c.rotations.All() {
		all.Handoffs = append(all.Handoffs, wire.Handoff(x))
	}
	return all, nil
}

func (c *core) deleteHandoff(r *http.Request) (any, error) {
	now := time.Now()
	x, effects, err := c.rotations.Cancel(rotation.ID(r.PathValue("handoff")), now)
	c.perform(effects, now)
	if errors.Is(err, rotation.ErrBusy) {
		err = respond.Refuse(
			http.StatusConflict,
			"this handoff is under way; it can no longer be taken back",
		)
	}
	return wire.Handoff(x), err
}

// getRun is the long poll of `sm run`.
func (a *App) getRun(w http.ResponseWriter, r *http.Request) error {
	asked, err := api.ParseRun(r.URL.Query())
	if err != nil {
		return respond.With(http.StatusUnprocessableEntity, err)
	}
	if a.foreignRun(r) {
		return respond.ErrForeignRun
	}
	wait, cancel := context.WithTimeout(r.Context(), api.RunWait)
	defer cancel()
	for first := true; ; first = false {
		var p polled
		err := a.change(r.Context(), func(c *core) (durable bool, err error) {
			p, err = c.polled(r.PathValue("id"), asked, first, time.Now())
			return asked.Handled != "" &&
				first, err // the run forgets what it has done once it has an answer
		})
		switch {
		case err != nil:
			return err
		case p.order.Rotation != "":
			return respond.JSON(w, http.StatusOK, p.order)
		}
		select {
		case <-p.news:
			continue
		case <-wait.Done():
			if r.Context().Err() != nil {
				a.hungUp(r.Context(), r.PathValue("id"), p.number)
				return nil
			}
		case <-a.closing:
		}
		respond.Raw(w, nil)
		return nil
	}
}

// foreignRun reports whether the caller did not start the agent's client, as far
// as the system shows: two runs may have the same name.
func (a *App) foreignRun(r *http.Request) bool {
	pid, err := access.PeerPID(r.Context())
	if a.o.Ancestry == nil || err != nil {
		return false
	}
	client := 0
	err = a.do(r.Context(), func(c *core) {
		if agent, err := c.fleet.Agent(
			r.PathValue("id"),
			true,
		); err == nil &&
			!c.fleet.Gone(agent) {
			at, _ := c.fleet.Location(agent)
			client = at.At.PID
		}
	})
	if err != nil || client == 0 {
		return false
	}
	return !slices.ContainsFunc(
		a.o.Ancestry(client),
		func(p fleet.Process) bool { return p.PID == pid },
	)
}

// hungUp takes note of a run that has ended while it asked, unless it has asked again.
func (a *App) hungUp(ctx context.Context, id string, number int) {
	_ = a.do(context.WithoutCancel(ctx), func(c *core) { // if the loop has stopped, there is nothing to update
		if agent, err := c.fleet.Agent(
			id,
			true,
		); err == nil &&
			c.runOf(agent).polls == number {
			c.runOf(agent).seen = time.Time{}
		}
	})
}
