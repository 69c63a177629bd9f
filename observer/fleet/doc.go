// Package fleet knows agents, their sessions and their files, and what the
// sessions of a machine add up to. It is pure: it takes changes of transcripts and
// entries of the client's registry, and gives views and counters.
//
// Invariants: what happened once counts once, in however many files it stands;
// counters never fall, and count nothing that happened before the state directory
// was made; a session's label is given once and belongs to nobody else.
//
// A Fleet has parts, each in the file of its name. A part owns some of what is known and builds on others: it cannot
// call what builds on it. basis (settings, clock, counters) carries catalog (files, sessions, labels), which carries
// roster (agents). On the roster build resolver, gauge, costs, finder; on these assigner, origins, liveness, viewer.
//
// It stores nothing: Take hands out what has changed, for observer/state to keep.
package fleet
