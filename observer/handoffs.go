package observer

import (
	"errors"
	"net/http"
	"time"

	"sm/handoff/rotation"
	"sm/observer/access"
	"sm/observer/api"
	"sm/observer/wire"
)

// postHandoff schedules a handoff: 200 says that it is stored.
func (s *server) postHandoff(w http.ResponseWriter, r *http.Request) error {
	now := time.Now()
	var in api.NewHandoff
	hint := `not a handoff; send JSON such as {"requester_session_id":"em","file_path":"/home/dev/handoff.md"}`
	if err := readJSON(r, &in, hint); err != nil || in.Path == "" || in.Requester == "" {
		return refuse(http.StatusBadRequest, hint)
	}
	line := s.line(r)
	var x rotation.Rotation
	err := s.ask(r.Context(), func(c *core) (err error) {
		x, err = c.handoffs.request(r.PathValue("id"), in, line, now)
		return err
	})
	if err != nil {
		return err
	}
	if unfit := s.fit(r.Context(), &x); unfit != nil {
		if err := s.do(r.Context(), func(c *core) { c.rotations.Refuse() }); err != nil {
			return err
		}
		return unfit
	}
	err = s.update(r.Context(), func(c *core) (err error) {
		x, err = c.handoffs.schedule(x, now)
		return err
	})
	if err != nil {
		return err
	}
	s.log.Info("handoff scheduled", "agent", x.Agent, "id", x.ID, "path", x.Path)
	return answerJSON(w, http.StatusOK, api.Scheduled{Status: "scheduled", ID: string(x.ID)})
}

func (s *server) line(r *http.Request) (l callers) {
	if s.o.Ancestry == nil {
		return l
	}
	pid, err := access.PeerPID(r.Context())
	if err != nil {
		return l
	}
	return callers{s.o.Ancestry(pid), true}
}

func (s *server) getHandoffs(w http.ResponseWriter, r *http.Request) error {
	answer := api.Handoffs{Handoffs: []api.Handoff{}}
	err := s.do(r.Context(), func(c *core) {
		for _, x := range c.rotations.All() {
			answer.Handoffs = append(answer.Handoffs, wire.Handoff(x))
		}
	})
	if err != nil {
		return err
	}
	return answerJSON(w, http.StatusOK, answer)
}

func (s *server) deleteHandoff(w http.ResponseWriter, r *http.Request) error {
	now := time.Now()
	var x rotation.Rotation
	err := s.update(r.Context(), func(c *core) (err error) {
		var effects []rotation.Effect
		x, effects, err = c.rotations.Cancel(rotation.ID(r.PathValue("handoff")), now)
		c.handoffs.perform(effects, now)
		return err
	})
	switch {
	case errors.Is(err, rotation.ErrBusy):
		return refuse(http.StatusConflict, "this handoff is under way; it can no longer be taken back")
	case err != nil:
		return err
	}
	return answerJSON(w, http.StatusOK, wire.Handoff(x))
}
