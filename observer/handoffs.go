package observer

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"sm/alerts"
	"sm/handoff"
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
func (a *App) postHandoff(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	var in api.NewHandoff
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Path == "" || in.Requester == "" {
		access.WriteError(w, http.StatusBadRequest, `not a handoff; send JSON such as {"requester_session_id":"em","file_path":"/home/dev/handoff.md"}`)
		return
	}
	line := a.line(r)
	var x handoff.Rotation
	var odd, refused error
	err := a.do(r.Context(), func(c *core) {
		if x, odd, refused = c.handoff(r.PathValue("id"), in, line, now); odd == nil && refused != nil {
			c.rotations.Refuse()
		}
	})
	if err == nil && odd == nil && refused == nil {
		if refused = a.fit(r.Context(), &x); refused != nil {
			err = a.do(r.Context(), func(c *core) { c.rotations.Refuse() })
		} else {
			err = a.change(r.Context(), func(c *core) bool {
				x, refused = c.schedule(x, now)
				return refused == nil
			})
		}
	}
	a.answerHandoff(w, x, err, odd, refused)
}

func (a *App) answerHandoff(w http.ResponseWriter, x handoff.Rotation, err, odd, refused error) {
	switch {
	case err != nil:
		access.WriteError(w, http.StatusServiceUnavailable, err.Error())
	case !named(w, odd):
	case errors.Is(refused, errNotSelf):
		access.WriteError(w, http.StatusForbidden, refused.Error())
	case errors.Is(refused, errCodexApp), errors.Is(refused, errNoWay), errors.Is(refused, errDryRun), errors.Is(refused, handoff.ErrBusy),
		errors.Is(refused, handoff.ErrBreaker), errors.Is(refused, handoff.ErrFutile):
		access.WriteError(w, http.StatusConflict, refused.Error())
	case refused != nil:
		access.WriteError(w, http.StatusUnprocessableEntity, refused.Error())
	default:
		a.log.Info("handoff scheduled", "agent", x.Agent, "id", x.ID, "path", x.Path)
		answerJSON(w, http.StatusOK, api.Scheduled{Status: "scheduled", ID: string(x.ID)})
	}
}

// callers is the process that asks with those that it descends from, the nearest first.
type callers struct {
	list []fleet.Process
	ok   bool // false where the system does not tell
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

// handoff looks at who asks for whom, and what for. The document has not been looked at
// then.
func (c *core) handoff(id string, in api.NewHandoff, line callers, now time.Time) (x handoff.Rotation, odd, refused error) {
	agent, err := c.fleet.Agent(id, false)
	if err != nil {
		return x, err, nil
	}
	s, _ := c.fleet.Seated(agent)
	asks, err := c.fleet.Agent(in.Requester, false)
	caller, known := c.fleet.Caller(line.list)
	switch {
	case err != nil || asks != agent, known && caller != agent, !known && line.ok && s.At.PID != 0:
		return x, nil, errNotSelf
	case s.Provider == codexApp:
		return x, nil, errCodexApp
	case c.dryRun:
		return x, nil, errDryRun
	case s.Heard && s.At.Pane == "" && !c.runs[agent].restarts(now):
		return x, nil, errNoWay
	}
	x = handoff.Rotation{ID: newRotationID(), Agent: agent, Path: in.Path, Session: s.Session, Since: s.Started, CWD: s.Project}
	if s.At.PID == 0 { // nobody knows whether it was its own client that asked: none that comes is cleared for it
		x.Session = ""
	}
	return x, nil, nil
}

func (c *core) schedule(r handoff.Rotation, now time.Time) (handoff.Rotation, error) {
	r, effects, err := c.rotations.Schedule(r, now)
	c.carry(effects, now)
	return r, err
}

func newRotationID() handoff.RotationID {
	return handoff.RotationID("ro-" + strings.ToLower(rand.Text()[:10]))
}

// rotateByItself schedules the handoff of an agent that is about to compact, where that
// is asked for and its client can be restarted.
func (c *core) rotateByItself(agent alerts.AgentID, now time.Time) {
	if !c.autoRotate || c.dryRun || !c.runs[agent].restarts(now) {
		return
	}
	s, ok := c.fleet.Seated(agent)
	if _, open := c.rotations.Open(agent); open || !ok || s.Path == "" {
		return
	}
	x, err := c.schedule(handoff.Rotation{ID: newRotationID(), Agent: agent, Session: s.Session, CWD: s.Project}, now)
	if err != nil {
		c.log.Warn("an agent is not rotated by itself", "agent", agent, "err", err)
		return
	}
	c.log.Info("handoff scheduled", "agent", agent, "id", x.ID, "auto", true)
}

func (a *App) getHandoffs(w http.ResponseWriter, r *http.Request) {
	answer := api.Handoffs{Handoffs: []api.Handoff{}}
	err := a.do(r.Context(), func(c *core) {
		for _, x := range c.rotations.All() {
			answer.Handoffs = append(answer.Handoffs, handoffOf(x))
		}
	})
	if err != nil {
		access.WriteError(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	answerJSON(w, http.StatusOK, answer)
}

func (a *App) deleteHandoff(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	var x handoff.Rotation
	var odd error
	err := a.change(r.Context(), func(c *core) bool {
		var effects []handoff.Effect
		x, effects, odd = c.rotations.Cancel(handoff.RotationID(r.PathValue("handoff")), now)
		c.carry(effects, now)
		return odd == nil
	})
	switch {
	case err != nil:
		access.WriteError(w, http.StatusServiceUnavailable, err.Error())
	case errors.Is(odd, handoff.ErrBusy):
		access.WriteError(w, http.StatusConflict, "this handoff is under way; it can no longer be taken back")
	case errors.Is(odd, handoff.ErrEnded):
		access.WriteError(w, http.StatusConflict, odd.Error())
	case odd != nil:
		access.WriteError(w, http.StatusNotFound, odd.Error())
	default:
		answerJSON(w, http.StatusOK, handoffOf(x))
	}
}

// handoffOf is a rotation as the API tells it.
func handoffOf(x handoff.Rotation) api.Handoff {
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
