// Package bills computes what the boundaries of a context cost: what a session
// did again after a compaction, a handoff or a clear, because the context no
// longer held it.
//
// A [Ledger] takes the records of one transcript in the order of its file and
// gives a [transcript.Bill] for each boundary. [Against] completes the bill of
// a session that began with a boundary by what the session before it had done.
// [Sketch] and [Alike] compare prompts.
//
// Invariants: nothing of what was written, asked or answered is kept, but
// hashes and sizes, and the names of files that were read again; memory is
// bounded, so that in a transcript of very many calls the oldest are forgotten;
// a bill depends on the records and their order alone.
//
// It does not know how a client writes its records, nor which session continues
// which: its callers join transcripts.
package bills
