// Package page serves the page at / and its events: it turns values into HTML
// and SVG.
//
// Its sessions come from a Source. A Hub has the data of all open pages; a slow
// page delays no other, and without an open page nothing is requested or kept.
// Package access controls who may open it.
//
// Texts of transcripts and hooks are never markup. The page runs only its own
// script and style, and loads nothing. Equal values give equal HTML, so the
// script computes ages. Unknown values are shown as unknown and never as 0.
package page
