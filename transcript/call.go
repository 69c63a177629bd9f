package transcript

// Tool is the kind of a tool, as far as it matters for repeated use.
type Tool uint8

// The tools.
const (
	ToolOther Tool = iota // anything else, such as a search
	ToolRead              // reads a file
	ToolEdit              // changes a file, or writes it
	ToolRun               // runs a command
)

// Call is one tool call, or the result of one, as the line writes it. Its byte
// slices point into the line, with the escapes of JSON, and are valid as long
// as those of an [Entry]. It has no other content of the call or its result.
type Call struct {
	// ID is the call's id, which its result contains as well; nil for none.
	ID []byte
	// Name is the client's name for the tool, Tool its kind. A result has
	// neither.
	Name []byte
	Tool Tool
	// On is the object of the call: a file's path, a command, a pattern, a URL;
	// nil for none.
	On []byte
	// Result marks the result of a call; Size is its length in bytes.
	Result bool
	Size   int64
}

// Target returns the key of On, 0 for none.
func (c *Call) Target() Key { return KeyOf(c.On) }
