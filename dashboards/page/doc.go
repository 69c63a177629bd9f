// Package page serves the page at / and its events: values in, HTML and SVG out.
//
// Its sessions come from a Source. A Hub has the data of all open pages; a slow page
// delays no other, and with no page open nothing is requested or kept. Package access
// controls who may open it.
//
// Texts of transcripts and hooks are text and never markup. The page runs only its
// own script and style, and loads nothing. Equal values give equal HTML, so ages are
// computed by the script. Unknown values are shown as unknown and never as 0.
package page
