// Package fleet keeps the agents, sessions and transcript files of a machine, and
// their totals. It is pure: it takes changes of transcripts, signals and entries
// of the client's registry, and returns views and counters.
//
// An event counts once, in however many files it appears. Counters never fall,
// and count nothing from before the state directory was created. The label of a
// session is assigned once and to no other session.
//
// A Fleet has parts, each in the file of its name. A part owns some of the data
// and uses the parts below it: basis (settings, clock, counters) is used by
// catalog (files, sessions, labels), catalog by roster (agents), roster by
// resolver, gauge, costs and finder, and these by assigner, origins, liveness and
// viewer.
//
// The fleet does not store anything: Take returns the changes for observer/state.
package fleet
