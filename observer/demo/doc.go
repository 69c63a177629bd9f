// Package demo simulates a fleet of agents for an observer without real ones.
//
// The same seed and start give the same events in the same order. Transcripts have
// the client's format, and hooks are called as the client calls them; every text is
// marked as simulated. Only the given folders are written.
package demo
