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
	"sm/observer/wire"
)

// postHandoff schedules a handoff. Status 200 means that the handoff is stored.
func (a *App) postHandoff(w http.ResponseWriter, r *http.Request) error {
	var in api.NewHandoff
	hint := `not a handoff; send JSON such as {"requester_session_id":"em","file_path":"/home/dev/handoff.md"}`
	err := readJSON(r, &in, hint)
	if err != nil || in.Path == "" || in.Requester == "" {
		return refuse(http.StatusBadRequest, hint)
	}
	id, err := a.Handoff(r.Context(), r.PathValue("id"), in, a.line(r))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, api.Scheduled{Status: "scheduled", ID: id})
}

// Handoff schedules a handoff and returns its id once it is stored. line has
// the requesting process and its ancestors; see requestHandoff.
func (a *App) Handoff(
	ctx context.Context,
	agent string,
	in api.NewHandoff,
	line []fleet.Process,
) (id string, err error) {
	var x rotation.Rotation
	err = a.ask(ctx, func(c *core) (err error) {
		x, err = c.requestHandoff(agent, in, line)
		return err
	})
	if err == nil {
		err = a.fit(&x)
	}
	if err != nil {
		if !errors.Is(err, fleet.ErrUnknown) {
			err = errors.Join(err, a.do(ctx, func(c *core) { c.rotations.Refuse() }))
		}
		return "", err
	}
	err = a.update(ctx, func(c *core) (err error) {
		x, err = c.scheduleHandoff(x)
		return err
	})
	return x.ID, err
}

// line returns the requesting process and its ancestors, the nearest first, or
// nil if the system does not show them.
func (a *App) line(r *http.Request) []fleet.Process {
	pid := access.PeerPID(r.Context())
	if a.o.Ancestry == nil || pid == 0 {
		return nil
	}
	if line := a.o.Ancestry(pid); len(line) > 0 {
		return line
	}
	return []fleet.Process{{PID: pid}} // the process has ended
}

func (c *core) getHandoffs(string, *http.Request) (any, error) {
	all := api.Handoffs{Handoffs: []api.Handoff{}}
	for _, x := range c.rotations.All() {
		all.Handoffs = append(all.Handoffs, wire.Handoff(x))
	}
	return all, nil
}

func (c *core) deleteHandoff(_ string, r *http.Request) (any, error) {
	id := r.PathValue("handoff")
	if agent, err := c.fleet.Agent(id, true); err == nil {
		id = c.rotations.Open(agent).ID
	}
	x, effects, err := c.rotations.Cancel(id, time.Now())
	c.perform(effects)
	return wire.Handoff(x), err
}

// getRun is the long poll of `sm run`.
func (a *App) getRun(w http.ResponseWriter, r *http.Request) error {
	asked, err := api.ParseRun(r.URL.Query())
	if err != nil {
		return refuse(http.StatusUnprocessableEntity, err.Error())
	}
	in, err := a.NextInstruction(r.Context(), r.PathValue("id"), asked, a.line(r))
	if err != nil {
		return err
	}
	if in.Rotation == "" {
		writeRaw(w, nil)
		return nil
	}
	return writeJSON(w, http.StatusOK, in)
}

// NextInstruction waits up to api.RunWait for an instruction for the run of an
// agent. The instruction has no rotation if there is none. line has the
// requesting process and its ancestors.
func (a *App) NextInstruction(
	ctx context.Context,
	id string,
	asked api.Run,
	line []fleet.Process,
) (in api.Instruction, err error) {
	wait, cancel := context.WithTimeout(ctx, api.RunWait)
	defer cancel()
	for first := true; ; first = false {
		var agent string
		var x run
		err := a.change(ctx, func(c *core) (durable bool, err error) {
			if agent, err = c.fleet.Agent(id, true); err != nil {
				return false, err
			}
			// Two runs may have the same name: the requesting process must have
			// started the agent's client, unless the system does not show its
			// ancestors.
			at := c.fleet.Location(agent).At
			if first && line != nil && at.PID != 0 && !c.fleet.Gone(agent) &&
				!slices.ContainsFunc(
					c.app.o.Ancestry(at.PID),
					func(p fleet.Process) bool { return p.PID == line[0].PID },
				) {
				return false, refuse(
					http.StatusConflict,
					"this agent has a client that another has started; give sm run another --name",
				)
			}
			x = c.polled(agent, asked, first)
			// The run forgets the outcome once it has an answer.
			return asked.Handled != "" && first, nil
		})
		if err != nil || x.order.Rotation != "" {
			return x.order, err
		}
		select {
		case <-x.changed:
			continue
		case <-wait.Done():
			if ctx.Err() != nil { // the run has ended, unless it has polled again
				return in, a.do(context.WithoutCancel(ctx), func(c *core) {
					if now := c.runOf(agent); now.polls == x.polls {
						now.closed = true
					}
				})
			}
		case <-a.closing:
		}
		return in, nil
	}
}
