// Package hook is the codec of what the client says to its hooks and its status
// line, and of what a hook may answer. It is pure: bytes in, values out.
//
// The wire between `sm hook`, `sm statusline` and the observer is the client's own
// JSON, less what nobody needs, plus one member:
//
//	"sm": {"client", "agent", "parent", "name", "provider", "tmux", "server", "pane", "pid", "at"}
//
// Other clients' payloads and answers are translated at the client's end; "client" names them.
//
// A hook's payload goes to POST /hooks/claude as it is. A report of the status line
// goes there too, with "hook_event_name":"StatusLine", an event that the client does
// not have: Decode says which of the two a body is, DecodeStatus reads the second.
//
// Invariants: any bytes give a value or an error; a member of the wrong type spoils
// itself alone; names of members are exact, letter for letter; unknown members are
// dropped, unknown events are kept; every text has a bound, and Encode's result fits
// into MaxBody.
//
// It decides nothing: what an event means is for observer/fleet and alerts.
package hook
