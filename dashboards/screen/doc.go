// Package screen makes texts and figures fit for a terminal: one line, a number
// of cells, a colour.
//
// Invariants: what Text returns has the same width on every terminal, and no
// control character of a text is left. Figures are rounded for reading.
//
// It writes nothing.
package screen
