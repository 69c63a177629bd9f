// Package top is the view of the fleet in the terminal: a list of sessions that changes while one looks, and all about
// one of them.
//
// Invariants: no text of an agent reaches the terminal as it came, see the package screen; no line is wider than the
// terminal; the selection stays on its agent when the order changes. The model does no I/O and takes its time from the
// caller, so that each screen can be tested cell by cell.
//
// It asks the observer by way of its API, and changes nothing there but what the user has confirmed. It types into no pane.
package top
