// Package page renders the page at /: values in, HTML and SVG out.
//
// Texts of transcripts and hooks are text and never markup. The page runs only its
// own script and style, and loads nothing. Equal values give equal HTML, so ages are
// computed by the script. Unknown values are shown as unknown and never as 0.
package page
