package alertmanager

import (
	"time"

	"sm/alerts"
)

// Notification is the part of Alertmanager's webhook that is used here: see its
// documentation under webhook_config, version 4.
type Notification struct {
	Alerts []struct {
		Alert
		Status string `json:"status"` // firing, resolved
	} `json:"alerts"`
}

// Alert has the common fields of alerts in the webhook and the API.
type Alert struct {
	Labels      map[string]string `json:"labels"`
	StartsAt    time.Time         `json:"startsAt"`
	Fingerprint string            `json:"fingerprint"` // of the labels
}

// Firing is an alert that requests one of our notices. Began is when it began
// to fire.
type Firing struct {
	Session     string
	Kind        alerts.Kind
	Began       time.Time
	Fingerprint string
}

// Firings returns the alerts that fire and have a session and a kind of notice.
func Firings(in *Notification, now time.Time) (list []Firing) {
	for _, a := range in.Alerts {
		if x, ok := a.firing(now); ok && a.Status == "firing" {
			list = append(list, x)
		}
	}
	return list
}

// firing converts an alert; ok is false without a session or a kind of notice.
func (a *Alert) firing(now time.Time) (x Firing, ok bool) {
	kind := alerts.Kind(0)
	for kind < alerts.Kinds && kind.String() != a.Labels["kind"] {
		kind++
	}
	if a.Labels["session"] == "" || kind == alerts.Kinds {
		return x, false
	}
	began := a.StartsAt
	if began.IsZero() || began.After(now) {
		began = now
	}
	return Firing{a.Labels["session"], kind, began, a.Fingerprint}, true
}
