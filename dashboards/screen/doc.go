// Package screen makes texts and figures fit for a terminal: one line, a number
// of cells, a colour.
//
// Invariants: the result of Text has the same width on every terminal and no
// control characters. Figures are rounded for people.
//
// It writes nothing.
package screen
