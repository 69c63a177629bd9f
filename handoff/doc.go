// Package handoff stores what an agent hands over to a fresh context: it checks which file may
// be handed over, keeps documents and their manifests by channel, and makes the text with which
// a session gets a document.
//
// Invariants:
//
//   - No file blocks [Examine], and a refused file was not read.
//   - A document is given to one agent, the one that claims it under the lock. That agent gets
//     it again until it is consumed.
//   - A kill at any point leaves the old manifest with its documents, or the new one with its
//     own. Damaged files are set aside, never deleted, and their documents stay.
//   - Unknown members of a manifest are kept.
//   - No body ends or begins the frame around it, see [Inject].
//
// When a document is made or given is decided in handoff/rotation; typing and restarting are in
// handoff/tmux and handoff/supervise.
package handoff
