package claude

import (
	"slices"

	"sm/transcript"
	"sm/transcript/jsonwalk"
)

// block reads one block of a message's content and stores it if it is a tool's
// call or result. It reports whether it is a result.
func (w *walker) block(e *transcript.Entry) (result bool) {
	var kind, id, name, of jsonwalk.Text
	var on []byte
	size := int64(0)
	for key, value := range w.Members(jsonwalk.Text{}) {
		switch string(key) {
		case "type":
			kind = value
		case "id":
			id = value
		case "name":
			name = value
		case "input":
			on = w.input(value)
		case "tool_use_id":
			of = value
		case "content":
			size = w.Size(value)
		}
	}
	switch string(w.Decode(kind)) {
	case "tool_use":
		e.Calls = append(e.Calls, transcript.Call{
			ID:   w.Raw(id),
			Name: w.Raw(name),
			Tool: toolOf(w.Raw(name)),
			On:   on,
		})
	case "tool_result":
		e.Calls = append(e.Calls, transcript.Call{ID: w.Raw(of), Result: true, Size: size})
		return true
	}
	return false
}

// input returns the object of a tool's call, nil for none. Of several members
// that name it the most specific counts.
func (w *walker) input(value jsonwalk.Text) (on []byte) {
	names := [...]string{"file_path", "notebook_path", "command", "url", "pattern", "path", "query"}
	most := len(names) - 1
	for key, value := range w.Members(value) {
		text := w.Raw(value)
		if i := slices.Index(names[:most+1], string(key)); i >= 0 && text != nil {
			on = text
			most = i
		}
	}
	return on
}

func toolOf(name []byte) transcript.Tool {
	switch string(name) {
	case "Read":
		return transcript.ToolRead
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		return transcript.ToolEdit
	case "Bash":
		return transcript.ToolRun
	}
	return transcript.ToolOther
}

// ownCalls returns the calls of a model's record or the results of a user's
// record, and none of other records.
func ownCalls(kind []byte, calls []transcript.Call) []transcript.Call {
	if len(calls) == 0 {
		return calls
	}
	user := string(kind) == "user"
	if !user && string(kind) != "assistant" {
		return calls[:0]
	}
	return slices.DeleteFunc(calls, func(c transcript.Call) bool { return c.Result != user })
}
