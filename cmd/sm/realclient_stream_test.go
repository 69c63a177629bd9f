//go:build realclient

package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// eventStream writes server-sent events.
type eventStream struct {
	w   http.ResponseWriter
	err error
}

func (e *eventStream) send(kind string, data map[string]any) {
	data["type"] = kind
	text, err := json.Marshal(data)
	if err == nil && e.err == nil {
		_, err = fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", kind, text)
	}
	if e.err == nil {
		e.err = err
	}
	if e.err == nil {
		e.err = http.NewResponseController(e.w).Flush()
	}
}

func (e *eventStream) block(i int, b modelBlock) {
	start := map[string]any{"type": b.Type}
	delta := map[string]any{}
	switch b.Type {
	case "thinking":
		start["thinking"] = ""
		start["signature"] = ""
		delta["type"] = "thinking_delta"
		delta["thinking"] = b.Thinking
	case "text":
		start["text"] = ""
		delta["type"] = "text_delta"
		delta["text"] = b.Text
	default:
		input, _ := json.Marshal(b.Input) // strings alone
		start["id"] = b.ID
		start["name"] = b.Name
		start["input"] = struct{}{}
		delta["type"] = "input_json_delta"
		delta["partial_json"] = string(input)
	}
	e.send("content_block_start", map[string]any{"index": i, "content_block": start})
	e.send("content_block_delta", map[string]any{"index": i, "delta": delta})
	if b.Type == "thinking" {
		e.send(
			"content_block_delta",
			map[string]any{"index": i, "delta": map[string]any{"type": "signature_delta", "signature": b.Signature}},
		)
	}
	e.send("content_block_stop", map[string]any{"index": i})
}
