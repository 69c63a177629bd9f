// Package alertmanager takes in alerts of Alertmanager about agents: what its webhook sends, and what it is asked for where
// no port is open to it.
//
// Invariants: an alert that is silenced or inhibited, is of another host, or names no agent or kind of notice, is nobody's;
// several Alertmanagers of one cluster are one, and one that does not answer takes nothing from the others; nothing is asked
// while no server is configured.
//
// It says nothing itself. Whether an agent hears, and that it hears once whichever way an alert comes, the policy decides by
// agent, cycle and kind.
package alertmanager
