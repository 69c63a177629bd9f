// Package transcript has the types for transcripts of all clients: entries, the
// totals of a session, its messages and compactions, the size of a context
// window.
//
// They are values and plain arithmetic: no files, no clock, no goroutines, and
// no packages but the standard library and [sm/transcript/wording]. Each client
// has a package that reads its records: [sm/transcript/claude] turns lines into
// an [Entry] and adds entries up to a [Session].
//
// Every figure is in 0..1e9, except sums. Keys are the same on every machine
// and in every run. Copied values share nothing. Package observer/fleet uses
// the keys to decide whether a record was copied from another session.
package transcript
