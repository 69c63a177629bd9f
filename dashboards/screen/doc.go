// Package screen makes texts and figures fit for a terminal: one line, a number of cells, a colour.
//
// Invariants: what Text returns has the same width on every terminal, and no control character leaves this package.
// Figures are rounded for reading, not for reckoning.
//
// It writes nothing, and knows neither sessions nor terminals.
package screen
