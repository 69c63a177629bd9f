// Package dashboards tests the dashboards for Grafana and the rules for
// Prometheus. It has no code of its own: the files in grafana and prometheus
// are the source, and are imported and loaded as they are.
//
// The names of metrics and labels come from the observer's golden file of its
// exposition; the package imports nothing of the observer.
package dashboards
