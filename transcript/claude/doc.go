// Package claude reads the transcripts that Claude Code writes: one JSON object
// per line, in a format that its vendor calls internal and changes between
// versions.
//
// It turns bytes into values and does nothing else: no files, no clock, no
// goroutines, standard library only. A scanner reads the few fields of one line
// that matter and checks that the line is JSON; a [Fold] adds lines up to one
// session; [WindowOf] returns the size of the context window of a model, and
// [AutoCompact] the size at which a client compacts automatically.
//
// Invariants: any bytes are accepted, and a line either is one JSON object or
// is bad; one bad field affects no other field; keys must match exactly, and
// similar text inside strings or nested objects is never mistaken for them;
// every figure is in 0..1e9; a fold depends only on the lines and their order,
// not on how they were cut into reads.
//
// The package reads one file at a time: observer/fleet finds out whether a
// record was copied from another session, by the keys that a fold returns.
package claude
