// Package hook decodes the input of Codex CLI's hooks and encodes their output.
// It is pure: bytes in, values out.
//
// Codex's payloads and answers resemble those of Claude Code. `sm hook`
// translates them on the client's side: the observer gets the payload of
// [sm/transcript/claude/hook] with "client":"codex" in its member "sm", and
// answers in the form of that package. The differences:
//
//   - In the hooks of a subagent session_id is the root thread's, and agent_id is
//     the subagent's own thread, which is a session of its own here.
//   - turn_id corresponds to prompt_id of Claude Code.
//   - PostModelRequest has the usage of the response; its total is the size of
//     the context.
//   - PermissionRequest means that a person is asked whether a tool may run. It
//     is never answered: without an answer the person decides.
//   - An answer is invalid if it has an unknown member, or a context for an
//     event that accepts none. At Stop the client accepts only a decision.
//
// Invariants: any input results in a value or an error; an answer is either
// empty or has the form of the client's own schema for its event.
//
// The package decides nothing: observer/fleet and alerts define the meaning of
// events.
package hook
