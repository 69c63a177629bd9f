// Package handoff carries an agent's work over into a fresh context. It keeps what is
// handed over: which file may be, the documents with their manifests, the channels that
// they belong to, and the text with which a session hears one. And it has the rotation,
// from the call to the proof that the new context was told what to read, as a pure state
// machine ([Rotations]).
//
// Invariants:
//
//   - A context is cleared at most once for a rotation, and one that was cleared is told
//     what to read, or reported: what may have been typed is not typed again blindly.
//   - Nothing that is named to [Examine] blocks it, and what it refuses was not read.
//   - A document is given to one agent. Whoever claims it under the lock has it; nobody
//     else ever gets it, and the same agent gets it again until it is consumed.
//   - A kill at any point leaves the old manifest with its documents, or the new one with
//     its own. What is damaged is set aside, never deleted.
//   - Members of a manifest that this version does not know are kept.
//   - No body ends or begins the frame around it, see [Inject].
//
// It types nothing and signals nobody: handoff/tmux and handoff/supervise do. When a
// document is made, given or heard is for its callers to know.
package handoff
