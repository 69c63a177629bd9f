// Package codex reads the transcripts (rollouts) that Codex CLI writes: one JSON object a
// line, in a format that its vendor calls internal and changes between versions.
//
// It turns bytes into values and keeps nothing: no clock, no goroutines. A scanner finds the
// few fields of one line that matter and checks that the line is JSON; a [Fold] adds lines
// up to one thread, which is one session here; [WindowOf] says how large the context window
// of a session is, and [CompactsAt] at which size the client compacts by itself. Compressed
// transcripts are unpacked in memory, see [Format].
//
// Invariants: any bytes are accepted, and a line either is one JSON object or is bad; one
// bad field spoils nothing but itself; what stands before a thread's own records, copied
// from its parent or from the thread that it was forked from, is never counted as its own;
// one compaction counts once; every figure lies in 0..1e9; a fold depends on the lines and
// their order alone.
//
// It does not know other files: the segments of a rewound thread are summed up by the
// observer/fleet package.
package codex
