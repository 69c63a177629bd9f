package transcript

// Tool is the kind of a tool, as far as repeated use matters.
type Tool uint8

// The tools.
const (
	ToolOther Tool = iota // anything else, such as a search
	ToolRead              // reads a file
	ToolEdit              // changes a file, or writes it
	ToolRun               // runs a command
)

// Call is one tool call, or the result of one, as the line writes it: its byte
// slices point into the line, with the escapes of JSON, and hold as long as
// those of an [Entry]. Of what was written, asked and answered there is no
// more.
type Call struct {
	// ID is the call's own id, which its result names too; nil for none.
	ID []byte
	// Name is what the client calls the tool, Tool what that does. A result has neither.
	Name []byte
	Tool Tool
	// On is what the call works on: a file's path, a command, a pattern, a URL; nil for none.
	On []byte
	// Result marks the result of a call; Size is how many bytes long it is.
	Result bool
	Size   int64
}

// Target is the key of what the call works on, 0 for none.
func (c *Call) Target() Key { return KeyOf(c.On) }
