// Package wire writes what the observer knows as the values of observer/api, and reads what is posted to it. Each function
// takes values and gives a value: it asks nobody, keeps nothing and knows no HTTP.
//
// Invariants: what is not known is null or left out, never 0; a text that says what is wrong ends with what to do.
package wire
