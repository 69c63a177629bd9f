package observer

import (
	"net/http"
	"slices"
	"time"

	"sm/alerts"
	"sm/observer/api"
	"sm/observer/wire"
)

// maxNotificationBytes bounds a notification: a thousand short alerts take some 70 KiB.
const maxNotificationBytes = 1 << 20

// postAlerts takes alerts that Alertmanager sends on. Those that fire and whose labels name
// a session and a kind of notice are said to the agent, unless the engine has said that in
// this episode. Others, and those that are resolved, are taken and change nothing: an answer
// other than 200 would have them sent again.
func (s *server) postAlerts(w http.ResponseWriter, r *http.Request) error {
	now := time.Now()
	var in wire.Notification
	if err := readJSON(r, &in, "not a notification of Alertmanager; use its webhook_configs"); err != nil {
		return err
	}
	list := wire.Firings(&in, now)
	answer := api.AlertsTaken{Status: "ok", Alerts: len(in.Alerts)}
	if len(list) > 0 {
		err := s.update(r.Context(), func(c *core) error {
			for _, x := range list {
				agent, err := c.fleet.Agent(x.Session, true)
				if err != nil || !c.caughtUp {
					c.log.Warn("an alert about nobody that is known", "session", x.Session, "kind", x.Kind, "err", err)
					continue
				}
				actions := c.engine.Step(alerts.Event{Kind: alerts.EventAlert, Agent: agent, At: x.Began, Notice: x.Kind})
				if slices.ContainsFunc(actions, isSay) {
					answer.Told++
				}
				c.rules.act(actions, now)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return answerJSON(w, http.StatusOK, answer)
}

func isSay(action alerts.Action) bool {
	_, ok := action.(alerts.Say)
	return ok
}
