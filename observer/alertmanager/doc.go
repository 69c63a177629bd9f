// Package alertmanager receives alerts about agents from Alertmanager: by its
// webhook, and by polling where no port is open to it.
//
// An alert that is silenced or inhibited, of another host, or without an agent or
// kind of notice is ignored. Several Alertmanagers of a cluster count as one, and a
// failing one does not affect the others. Without a configured server nothing is
// polled.
//
// Package alerts decides whether an agent gets a notice, by agent, cycle and kind, so
// it gets each once.
package alertmanager
