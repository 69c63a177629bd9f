// Package alertmanager receives alerts about agents from Alertmanager: by its
// webhook, or by polling if Alertmanager cannot connect to the observer.
//
// An alert that is silenced or inhibited, of another host, or without an agent or
// kind of notice is ignored. Several Alertmanagers of a cluster count as one, and a
// failing one does not affect the others. Without a configured server nothing is
// polled.
//
// Package alerts decides whether an agent gets a notice. It sends each notice
// once, by agent, cycle and kind.
package alertmanager
