// Package fleet keeps the agents, sessions and transcript files of a machine, and
// their totals. It does no I/O: it applies changes of transcripts, signals and
// entries of the client's registry, and returns views and counters.
//
// An event counts once, in however many files it appears. Counters never fall,
// and omit events from before the state directory was created. The label of a
// session is assigned once and to no other session.
//
// The fleet does not store anything: Take returns the changes for observer/state.
package fleet
