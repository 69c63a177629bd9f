// Package transcript holds what the transcripts of every client tell: entries, the
// sum of one session, its messages and compactions, the size of a context window.
//
// They are values and plain arithmetic: no files, no clock, no goroutines, standard
// library only. How a client writes its records, and what follows from them, is for the
// package of that client: [sm/transcript/claude] turns lines into an [Entry] and adds
// entries up to a [Session].
//
// Invariants: every figure lies in 0..1e9, sums apart; keys are the same on every
// machine and in every run; values copied share nothing.
//
// It knows no client and no other file: whether a record was copied from another
// session is for the observer/fleet package to say, by the keys handed out here.
package transcript
