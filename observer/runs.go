package observer

import (
	"context"
	"net/http"
	"slices"
	"time"

	"sm/observer/access"
	"sm/observer/api"
	"sm/observer/fleet"
)

// getRun is the long poll of `sm run`.
func (s *server) getRun(w http.ResponseWriter, r *http.Request) error {
	asked, err := api.ParseRun(r.URL.Query())
	if err != nil {
		return statusError{http.StatusUnprocessableEntity, err}
	}
	if s.foreignRun(r) {
		return errForeignRun
	}
	wait, cancel := context.WithTimeout(r.Context(), api.RunWait)
	defer cancel()
	for first := true; ; first = false {
		var p polled
		err := s.change(r.Context(), func(c *core) (durable bool, err error) {
			p, err = c.handoffs.polled(r.PathValue("id"), asked, first, time.Now())
			return asked.Handled != "" && first, err // the run forgets what it has done once it has an answer
		})
		switch {
		case err != nil:
			return err
		case p.order.Rotation != "":
			return answerJSON(w, http.StatusOK, p.order)
		}
		select {
		case <-p.news:
			continue
		case <-wait.Done():
			if r.Context().Err() != nil {
				s.hungUp(r.Context(), r.PathValue("id"), p.number)
				return nil
			}
		case <-s.closing:
		}
		answerRaw(w, nil)
		return nil
	}
}

// foreignRun says that the caller has not started the agent's client, as far as the
// system tells: two runs may have been given one name.
func (s *server) foreignRun(r *http.Request) bool {
	pid, err := access.PeerPID(r.Context())
	if s.o.Ancestry == nil || err != nil {
		return false
	}
	client := 0
	err = s.do(r.Context(), func(c *core) {
		agent, err := c.fleet.Agent(r.PathValue("id"), true)
		if err != nil || c.fleet.Gone(agent) {
			return
		}
		if at, ok := c.fleet.Location(agent); ok {
			client = at.At.PID
		}
	})
	if err != nil || client == 0 {
		return false
	}
	return !slices.ContainsFunc(s.o.Ancestry(client), func(p fleet.Process) bool { return p.PID == pid })
}

// hungUp takes note of a run that has ended while it asked, unless it has asked again.
func (s *server) hungUp(ctx context.Context, id string, number int) {
	_ = s.do(context.WithoutCancel(ctx), func(c *core) { // when the loop has ended nobody needs to know
		if agent, err := c.fleet.Agent(id, true); err == nil && c.handoffs.run(agent).polls == number {
			c.handoffs.run(agent).seen = time.Time{}
		}
	})
}
