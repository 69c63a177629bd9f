// Package central asks a server that speaks Prometheus' HTTP API, and to which many machines write, for the sessions of all
// of them.
//
// Invariants: it only reads; what it asks takes the same few queries however many hosts and sessions there are; what the
// server does not know stays unknown and is never 0; each error is one line that ends with what to do. Texts of labels are
// as they came: the code that shows them must make them fit for a screen.
//
// It keeps nothing but the trends of the last half minute, and it cannot say what no metric tells: titles, directories,
// panes, handoffs and messages stay on their machines.
package central
