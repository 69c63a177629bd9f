// Package handoff keeps what an agent hands over to a fresh context: which file may be
// handed over, the documents with their manifests, the channels that they belong to, and
// the text with which a session hears one.
//
// Invariants:
//
//   - Nothing that is named to [Examine] blocks it, and what it refuses was not read.
//   - A document is given to one agent. The agent that claims it under the lock has it; no
//     other ever gets it, and the same agent gets it again until it is consumed.
//   - A kill at any point leaves the old manifest with its documents, or the new one with
//     its own. What is damaged is set aside, never deleted.
//   - Members of a manifest that this version does not know are kept.
//   - No body ends or begins the frame around it, see [Inject].
//
// It does not know when a document is made, given or heard: handoff/rotation decides that.
// It types nothing and signals nobody: handoff/tmux and handoff/supervise do.
package handoff
