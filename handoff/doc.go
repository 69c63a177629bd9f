// Package handoff stores the documents that an agent hands over to a fresh
// context. It checks which file may be handed over, keeps documents and their
// manifests by channel, and makes the text with which a session gets a
// document.
//
// Invariants:
//
//   - [Examine] is not blocked by any file, and does not read a file that it
//     refuses.
//   - Only one agent gets a document: the one that claims it under the lock. It
//     gets the document again until it is consumed.
//   - A kill at any point leaves either the old manifest with its documents or
//     the new one with its documents. Damaged files are set aside, never
//     deleted, and their documents stay.
//   - Unknown members of a manifest are kept.
//   - No body can end or begin the frame around it, see [Inject].
//
// Package handoff/rotation decides when a document is made and given. Typing
// and restarting are in handoff/tmux and handoff/supervise.
package handoff
