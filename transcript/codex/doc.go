// Package codex reads the transcripts (rollouts) of Codex CLI: one JSON object per
// line, in a format that its vendor calls internal and changes between versions.
//
// It is pure. A scanner reads the few fields of a line that matter and checks that
// the line is JSON. A [Fold] adds the lines up to one thread, which is one session
// here. [WindowOf] returns the context window of a session, [CompactsAt] the size at
// which the client compacts automatically. Compressed transcripts are unpacked as
// they are read, see [Format].
//
// Any bytes are accepted, and a line either is one JSON object or is bad. A bad
// field affects only itself. Records before a thread's own, copied from its parent
// or from the thread that it was forked from, are not counted as its own. A
// compaction counts once. Every figure is in 0..1e9. A fold depends only on the
// lines and their order.
//
// The segments of a rewound thread are added up by observer/fleet.
package codex
