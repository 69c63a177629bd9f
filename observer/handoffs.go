package observer

import (
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"sm/alerts"
	"sm/handoff/rotation"
	"sm/observer/access"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/observer/wire"
)

// errors that a call of sm handoff can meet besides those of the document.
var (
	errNotSelf  = errors.New("an agent hands over for itself alone; call sm handoff from within the session that it is about")
	errCodexApp = errors.New("codex-app has no terminal to clear; hand over by hand")
	errDryRun   = errors.New("the observer runs with --dry-run, which touches no agent; start it without")
	errNoWay    = errors.New("this client runs neither in tmux nor under sm run, so its context cannot be cleared; start it as sm run -- claude")
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

// callers is the process that asks with those that it descends from, the nearest first.
type callers struct {
	list []fleet.Process
	ok   bool // false where the system does not tell
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

// request looks at who asks for whom, and what for. The document has not been looked at
// then.
func (h *handoffs) request(id string, in api.NewHandoff, line callers, now time.Time) (x rotation.Rotation, err error) {
	agent, err := h.fleet.Agent(id, false)
	if err != nil {
		return x, err
	}
	s, _ := h.fleet.Location(agent)
	asks, err := h.fleet.Agent(in.Requester, false)
	caller, known := h.fleet.Caller(line.list)
	switch {
	case err != nil || asks != agent, known && caller != agent, !known && line.ok && s.At.PID != 0:
		err = errNotSelf
	case s.Provider == codexApp:
		err = errCodexApp
	case h.dryRun:
		err = errDryRun
	case s.Heard && s.At.Pane == "" && !h.agents.look(agent).run.restarts(now):
		err = errNoWay
	}
	if err != nil {
		h.rotations.Refuse()
		return x, err
	}
	x = rotation.Rotation{ID: newRotationID(), Agent: agent, Path: in.Path, Session: s.Session, Since: s.Started, CWD: s.Project}
	if s.At.PID == 0 { // nobody knows whether it was its own client that asked: none that comes is cleared for it
		x.Session = ""
	}
	return x, nil
}

func (h *handoffs) schedule(r rotation.Rotation, now time.Time) (rotation.Rotation, error) {
	r, effects, err := h.rotations.Schedule(r, now)
	h.perform(effects, now)
	return r, err
}

func newRotationID() rotation.ID {
	return rotation.ID("ro-" + strings.ToLower(rand.Text()[:10]))
}

// rotateByItself schedules the handoff of an agent that is about to compact, where that
// is asked for and its client can be restarted.
func (h *handoffs) rotateByItself(agent alerts.AgentID, now time.Time) {
	if !h.settings.Handoff.AutoRotate || h.dryRun || !h.agents.look(agent).run.restarts(now) {
		return
	}
	s, ok := h.fleet.Location(agent)
	if _, open := h.rotations.Open(agent); open || !ok || s.Path == "" {
		return
	}
	x, err := h.schedule(rotation.Rotation{ID: newRotationID(), Agent: agent, Session: s.Session, CWD: s.Project}, now)
	if err != nil {
		h.log.Warn("an agent is not rotated by itself", "agent", agent, "err", err)
		return
	}
	h.log.Info("handoff scheduled", "agent", agent, "id", x.ID, "auto", true)
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
