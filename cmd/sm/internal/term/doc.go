// Package term writes tables and progress lines to a terminal.
//
// Output that does not go to a terminal has neither colours nor progress lines.
// Columns are aligned by screen cells, so wide characters and colours do not
// move them.
package term
