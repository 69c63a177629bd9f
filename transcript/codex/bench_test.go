package codex

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sm/transcript"
)

// code is text as tools return it, escaped as in a transcript.
func code(n int) string {
	const s = `func (w *walker) open() bool {\n\tw.depth++\n\tif w.depth > maxDepth {\n\t\treturn fmt.Errorf(\"too deep: %d\\n\", w.depth)\n\t}\n\treturn !w.bad\n}\n\n`
	return strings.Repeat(s, n/len(s)+1)
}

func toolOutput(size int) []byte {
	return fmt.Appendf(
		nil,
		`{"timestamp":"2026-11-22T00:23:20.845Z","ordinal":23,"type":"response_item","payload":{"type":"custom_tool_call_output","id":"ctco_01a200a2-d40d-7d53-b884-47a954e9d831","call_id":"call_06995002","output":[{"type":"input_text","text":"%s"}],"internal_chat_message_metadata_passthrough":{"turn_id":"01a200a2-d355-72f1-8e76-ae20b3ef17e2","create_time":1795307000.845}},"metadata":{"history_sequence":28,"client_authored":false}}`,
		code(size),
	)
}

func BenchmarkScan(b *testing.B) {
	lines := map[string][]byte{
		"tool output":      toolOutput(2000),
		"long tool output": toolOutput(200_000),
	}
	for line := range bytes.Lines(linesOf(
		b,
		"testdata/transcripts/plain/sessions/2026/11/22/rollout-2026-11-22T00-23-17-01a200a2-c6c2-7132-9797-a69d2e56d1e7.jsonl",
	)) {
		var r record
		if scan(line, &r) == nil && (r.kind == counted || r.kind == spent) {
			lines[map[kind]string{
				counted: "count",
				spent:   "cost",
			}[r.kind]] = bytes.TrimSpace(line)
		}
	}
	for name, line := range lines {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			var r record
			for b.Loop() {
				if scan(line, &r) != nil {
					b.Fatal("no record")
				}
			}
		})
	}
}

func BenchmarkFold(b *testing.B) {
	var lines [][]byte
	size := int64(0)
	spent := bytes.SplitAfter(
		linesOf(
			b,
			"testdata/transcripts/tools/sessions/2026/11/22/rollout-2026-11-22T00-23-17-01a200a2-c6f2-7732-b58a-343789556828.jsonl",
		),
		[]byte("\n"),
	)
	for i := range 1000 {
		line := toolOutput(4000)
		if i%3 == 0 {
			line = bytes.TrimSpace(spent[i/3%(len(spent)-1)])
		}
		lines = append(lines, line)
		size += int64(len(line)) + 1
	}
	b.SetBytes(size)
	b.ReportAllocs()
	var e transcript.Entry
	for b.Loop() {
		f := NewFold(transcript.File{Name: "x"})
		for _, line := range lines {
			f.Line(line, len(line)+1, &e)
		}
	}
}
