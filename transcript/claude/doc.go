// Package claude reads the transcripts that Claude Code writes: one JSON
// object a line, in a format that its vendor calls internal and changes between
// versions.
//
// It turns bytes into values and does nothing else: no files, no clock, no
// goroutines, standard library only. A scanner finds the few fields of one line
// that matter and checks that the line is JSON; a [Fold] adds lines up to one
// session; [WindowOf] returns the size of the context window of a model, and
// [AutoCompact] at which size a client compacts by itself.
//
// Invariants: any bytes are accepted, and a line either is one JSON object or is
// bad; one bad field affects no other field; keys are matched to the letter,
// and look-alikes inside strings or nested objects are never taken for the real
// ones; every figure lies in 0..1e9; a fold depends on the lines and their order
// alone, never on how they were cut into reads.
//
// It does not know other files: observer/fleet finds out whether a record was copied from
// another session, by the keys that a fold returns.
package claude
