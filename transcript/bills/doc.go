// Package bills computes the cost of the boundaries of a context: the work that
// a session repeated after a compaction, a handoff or a clear, because the
// context no longer contained it.
//
// A [Ledger] takes the records of one transcript in the order of its file and
// returns a [transcript.Bill] for each boundary. [Against] completes the bill
// of a session that began with a boundary, given the work of the session before
// it. [Sketch] and [Alike] compare prompts.
//
// Invariants: of conversations only hashes and sizes are kept, and the names of
// files that were read again; memory is bounded, so that in a transcript with
// very many calls the oldest are dropped; a bill depends only on the records
// and their order.
//
// The package does not know how a client writes its records, nor which session
// continues another: its callers join transcripts.
package bills
