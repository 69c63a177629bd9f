// Package top is the view of the fleet in the terminal: a list of sessions, and
// everything about one of them.
//
// Invariants: texts of agents are made fit for the terminal by package screen;
// no line is wider than the terminal; the selection stays on its agent when the
// order changes. The model does no I/O and gets its time from the caller, so
// tests compare screens cell by cell.
//
// It sends only messages that the user has confirmed, and types into no pane.
package top
