// Package demo makes up a fleet of agents, so that an observer can be shown without any real one.
//
// Invariants: the same seed and start give the same events, in order. The transcripts have the form that the client
// writes, and hooks are called as the client calls them; every text says that it is made up. Only the folders that it
// is given are written to.
//
// It does not start the observer, and knows nothing of its configuration.
package demo
