// Package wire converts values of the observer to those of observer/api, and
// parses requests. Its functions have no side effects.
//
// Unknown values are null or omitted, never 0. A text about a problem ends with
// advice.
package wire
