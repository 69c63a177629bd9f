// Package dashboards tests the dashboards for Grafana and the rules for
// Prometheus. It has no code of its own: the files in grafana and prometheus
// are the source, and are imported and loaded unchanged.
//
// The names of metrics and labels come from the golden file of the observer's
// metrics; the package does not import the observer.
package dashboards
