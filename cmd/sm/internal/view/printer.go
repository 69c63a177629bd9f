// Package view prints for people what sm reads out of past transcripts, that is reports, grids and replays, and the tables of
// what the observer and the doctor say.
//
// Invariants: lines fit into 80 columns, except for the texts of notices. Where the locale is not of Unicode, drawings
// are of ASCII characters; without colours nothing but text is written.
//
// It reads nothing and decides nothing, and does not print JSON.
package view

import "io"

// A Printer is where the answer of a command goes, and what can be shown there.
type Printer struct {
	io.Writer
	Colour  bool
	Columns int // cells of a line
	Wrap    int // the same on a terminal, 0 for none: what is read by programs stays on its line
	Glyphs  Glyphs
}
