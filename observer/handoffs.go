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
		x, err = c.handoff(r.PathValue("id"), in, line, now)
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
		x, err = c.schedule(x, now)
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

// handoff looks at who asks for whom, and what for. The document has not been looked at
// then.
func (c *core) handoff(id string, in api.NewHandoff, line callers, now time.Time) (x rotation.Rotation, err error) {
	agent, err := c.fleet.Agent(id, false)
	if err != nil {
		return x, err
	}
	s, _ := c.fleet.Seated(agent)
	asks, err := c.fleet.Agent(in.Requester, false)
	caller, known := c.fleet.Caller(line.list)
	switch {
	case err != nil || asks != agent, known && caller != agent, !known && line.ok && s.At.PID != 0:
		err = errNotSelf
	case s.Provider == codexApp:
		err = errCodexApp
	case c.dryRun:
		err = errDryRun
	case s.Heard && s.At.Pane == "" && !c.runs[agent].restarts(now):
		err = errNoWay
	}
	if err != nil {
		c.rotations.Refuse()
		return x, err
	}
	x = rotation.Rotation{ID: newRotationID(), Agent: agent, Path: in.Path, Session: s.Session, Since: s.Started, CWD: s.Project}
	if s.At.PID == 0 { // nobody knows whether it was its own client that asked: none that comes is cleared for it
		x.Session = ""
	}
	return x, nil
}

func (c *core) schedule(r rotation.Rotation, now time.Time) (rotation.Rotation, error) {
	r, effects, err := c.rotations.Schedule(r, now)
	c.carry(effects, now)
	return r, err
}

func newRotationID() rotation.ID {
	return rotation.ID("ro-" + strings.ToLower(rand.Text()[:10]))
}

// rotateByItself schedules the handoff of an agent that is about to compact, where that
// is asked for and its client can be restarted.
func (c *core) rotateByItself(agent alerts.AgentID, now time.Time) {
	if !c.settings.Handoff.AutoRotate || c.dryRun || !c.runs[agent].restarts(now) {
		return
	}
	s, ok := c.fleet.Seated(agent)
	if _, open := c.rotations.Open(agent); open || !ok || s.Path == "" {
		return
	}
	x, err := c.schedule(rotation.Rotation{ID: newRotationID(), Agent: agent, Session: s.Session, CWD: s.Project}, now)
	if err != nil {
		c.log.Warn("an agent is not rotated by itself", "agent", agent, "err", err)
		return
	}
	c.log.Info("handoff scheduled", "agent", agent, "id", x.ID, "auto", true)
}

func (s *server) getHandoffs(w http.ResponseWriter, r *http.Request) error {
	answer := api.Handoffs{Handoffs: []api.Handoff{}}
	err := s.do(r.Context(), func(c *core) {
		for _, x := range c.rotations.All() {
			answer.Handoffs = append(answer.Handoffs, handoffOf(x))
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
		c.carry(effects, now)
		return err
	})
	switch {
	case errors.Is(err, rotation.ErrBusy):
		return refuse(http.StatusConflict, "this handoff is under way; it can no longer be taken back")
	case err != nil:
		return err
	}
	return answerJSON(w, http.StatusOK, handoffOf(x))
}

// handoffOf is a rotation as the API tells it.
func handoffOf(x rotation.Rotation) api.Handoff {
	out := api.Handoff{
		ID: string(x.ID), Agent: string(x.Agent), Path: x.Path, Auto: x.Auto(), State: x.State.String(), Reason: x.Reason, Detail: x.Detail, Way: x.Way.String(),
		Document: x.Document, SessionID: x.Session, NextSession: x.Next, MadeAt: x.Made, ChangedAt: x.Changed,
	}
	if x.Auto() {
		out.Path = x.Read
	}
	if !x.State.Ended() {
		out.Waiting = x.Last
	}
	return out
}
