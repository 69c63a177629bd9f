// Package dashboards holds what people look at: dashboards for Grafana, generated from
// the Go code here, and recording rules and alerts for Prometheus, with their tests.
//
// Invariants: grafana/ holds what the code generates and nothing else; every expression
// parses and asks for names and labels that the observer exports; every alert has a case
// in which it fires, one in which it does not, and a runbook in README.md; panels never
// overlap.
//
// It measures nothing and knows no observer: names and labels are those of the golden file
// that holds the exposition.
package dashboards

//go:generate go test -run ^TestGrafanaGenerated$ -update
