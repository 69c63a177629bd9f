package claude

import (
	"encoding/json"

	"sm/transcript"
)

// callsOf returns the calls in the content of a message, or the results.
func callsOf(content json.RawMessage, kind string) (calls []transcript.Call) {
	var blocks []json.RawMessage
	if len(content) == 0 || content[0] != '[' || json.Unmarshal(content, &blocks) != nil {
		return nil
	}
	for _, raw := range blocks {
		o := objectOf(raw)
		switch {
		case kind == "user" && o.text("type") == "tool_result":
			size := len(o["content"])
			if _, ok := textOf(o["content"]); ok {
				size -= 2
			}
			calls = append(calls, transcript.Call{
				ID:     o.between("tool_use_id"),
				Result: true,
				Size:   int64(size),
			})
		case kind == "assistant" && o.text("type") == "tool_use":
			calls = append(calls, callOf(o))
		}
	}
	return calls
}

func callOf(o object) transcript.Call {
	c := transcript.Call{ID: o.between("id"), Name: o.between("name")}
	c.Tool = map[string]transcript.Tool{
		"Read": transcript.ToolRead, "Edit": transcript.ToolEdit, "MultiEdit": transcript.ToolEdit,
		"Write": transcript.ToolEdit, "NotebookEdit": transcript.ToolEdit, "Bash": transcript.ToolRun,
	}[string(c.Name)]
	in := objectOf(o["input"])
	for _, name := range []string{
		"file_path",
		"notebook_path",
		"command",
		"url",
		"pattern",
		"path",
		"query",
	} {
		if c.On = in.between(name); len(c.On) > 0 {
			break
		}
	}
	return c
}

// between returns a string as it is written, without its quotes; nil for none.
func (o object) between(key string) []byte {
	if _, ok := textOf(o[key]); !ok {
		return nil
	}
	return o[key][1 : len(o[key])-1]
}
