// Package term writes what commands show on a terminal: tables, and a line that says how far the work is.
//
// Invariants: what goes to no terminal has no colours and no progress line; columns line up in cells of the screen, so
// that wide characters and colours do not move them.
//
// It knows nothing about sessions, and decides nothing: commands say what stands in a cell.
package term
