// Package wire converts values of the observer to those of observer/api, and parses
// posted ones. Its functions are pure.
//
// Unknown values are null or left out, never 0. A text about a problem ends with the
// remedy.
package wire
