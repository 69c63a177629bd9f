// Package page draws the page at /: plain values in, HTML and SVG out.
//
// Invariants: whatever a transcript or a hook says is text and never markup; the page
// runs no script and no style but its own, and loads nothing; what does not change in
// the values does not change in the HTML, so ages are left to the script; what is
// unknown is called unknown and never 0.
//
// It asks nobody, keeps nothing and changes nothing: who serves the page brings the
// values, and says when they have changed.
package page
