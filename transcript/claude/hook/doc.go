// Package hook encodes and decodes the input of hooks and the status line, and
// the answers of hooks. It is pure.
//
// The format between sm hook, sm statusline and the observer is the client's
// own JSON without unused members, plus one member:
//
//	"sm": {"client", "agent", "parent", "name", "provider", "tmux", "server", "pane", "pid", "at"}
//
// Input and answers of other clients are translated next to the client;
// "client" is its name.
//
// A hook's payload is sent to POST /hooks/claude unchanged. A report of the
// status line is sent there too, with "hook_event_name":"StatusLine", an event
// that the client does not have: Decode distinguishes them, DecodeStatus reads
// the second.
//
// Any input results in a value or an error. A member of the wrong type is
// dropped by itself. Names of members are case-sensitive; unknown members are
// dropped, unknown events are kept. Every text is limited, and the result of
// Encode fits into MaxBody.
package hook
