package observer

import (
	"net/http"
	"slices"
	"time"

	"sm/alerts"
	"sm/observer/api"
)

// maxNotificationBytes bounds a notification: a thousand short alerts take some 70 KiB.
const maxNotificationBytes = 1 << 20

// alertmanagerPayload is the part of Alertmanager's webhook that counts here: see its
// documentation under webhook_config, version 4.
type alertmanagerPayload struct {
	Alerts []struct {
		Status   string            `json:"status"` // firing, resolved
		Labels   map[string]string `json:"labels"`
		StartsAt time.Time         `json:"startsAt"`
	} `json:"alerts"`
}

// firing is an alert that stands for a notice of ours.
type firing struct {
	session string
	kind    alerts.Kind
	began   time.Time
}

// postAlerts takes alerts that Alertmanager sends on. Those that fire and whose labels name
// a session and a kind of notice are said to the agent, unless the engine has said that in
// this episode. Others, and those that are resolved, are taken and change nothing: an answer
// other than 200 would have them sent again.
func (s *server) postAlerts(w http.ResponseWriter, r *http.Request) error {
	now := time.Now()
	var in alertmanagerPayload
	if err := readJSON(r, &in, "not a notification of Alertmanager; use its webhook_configs"); err != nil {
		return err
	}
	list := firings(&in, now)
	answer := api.AlertsTaken{Status: "ok", Alerts: len(in.Alerts)}
	if len(list) > 0 {
		err := s.update(r.Context(), func(c *core) error {
			for _, x := range list {
				agent, err := c.fleet.Agent(x.session, true)
				if err != nil || !c.caughtUp {
					c.log.Warn("an alert about nobody that is known", "session", x.session, "kind", x.kind, "err", err)
					continue
				}
				actions := c.engine.Step(alerts.Event{Kind: alerts.EventAlert, Agent: agent, At: x.began, Notice: x.kind})
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

// firings are the alerts that may be said, with the time since when they fire.
func firings(in *alertmanagerPayload, now time.Time) (list []firing) {
	kinds := alerts.Kinds()
	for _, x := range in.Alerts {
		i := slices.IndexFunc(kinds[:], func(k alerts.Kind) bool { return k.String() == x.Labels["kind"] })
		if x.Status != "firing" || x.Labels["session"] == "" || i < 0 {
			continue
		}
		began := x.StartsAt
		if began.IsZero() || began.After(now) {
			began = now
		}
		list = append(list, firing{x.Labels["session"], kinds[i], began})
	}
	return list
}
