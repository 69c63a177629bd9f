// Package hook is the codec of the input of Codex CLI's hooks, and of the output that a
// hook may answer there. It is pure: bytes in, values out.
//
// Codex's payloads and answers resemble those of Claude Code, so that `sm hook`
// translates them at the client's end: the observer gets the payload of
// [sm/transcript/claude/hook] with "client":"codex" in its member "sm", and
// gives that package's answer. What differs:
//
//   - In the hooks of a subagent session_id is the root thread's, and agent_id is
//     the subagent's own thread, which is a session of its own here.
//   - turn_id is what Claude Code calls prompt_id.
//   - PostModelRequest has the usage of the response; its total is the size of the
//     context.
//   - PermissionRequest means that a person is asked whether a tool may run. It is
//     never answered: without an answer the question stays with the person.
//   - An answer is invalid with a member that the client does not know, and with
//     context where the event takes none. At Stop the client takes a decision alone.
//
// Invariants: any bytes give a value or an error; an answer is either empty or
// has the form that the client's own schema gives for its event.
//
// It decides nothing: what an event means is for observer/fleet and alerts.
package hook
