package alertmanager

import (
	"slices"
	"time"

	"sm/alerts"
)

// Notification is the part of Alertmanager's webhook that counts here: see its
// documentation under webhook_config, version 4.
type Notification struct {
	Alerts []Alert `json:"alerts"`
}

// Alert is one of a Notification.
type Alert struct {
	Status      string            `json:"status"` // firing, resolved
	Labels      map[string]string `json:"labels"`
	StartsAt    time.Time         `json:"startsAt"`
	Fingerprint string            `json:"fingerprint"` // of the labels
}

// Firing is an alert that asks for one of our notices, with the time since when it fires.
type Firing struct {
	Session     string
	Kind        alerts.Kind
	Began       time.Time
	Fingerprint string
}

// Firings are the alerts that fire and name a session and a kind of notice.
func Firings(in *Notification, now time.Time) (list []Firing) {
	kinds := alerts.Kinds()
	for _, x := range in.Alerts {
		i := slices.IndexFunc(
			kinds[:],
			func(k alerts.Kind) bool { return k.String() == x.Labels["kind"] },
		)
		if x.Status != "firing" || x.Labels["session"] == "" || i < 0 {
			continue
		}
		began := x.StartsAt
		if began.IsZero() || began.After(now) {
			began = now
		}
		list = append(list, Firing{x.Labels["session"], kinds[i], began, x.Fingerprint})
	}
	return list
}
