package claude

import (
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

// toolResult returns the record of a tool's result, in the layout of clients up to 2.1.90 or
// of later ones.
func toolResult(late bool, size int) []byte {
	const (
		envelope = `"userType":"external","cwd":"/home/dev/proj","sessionId":"64066f5a-84fe-4ad3-9345-0f6618e559d9","version":"2.1.0","gitBranch":"master"`
		head     = `{"parentUuid":"5d7a6047-8a6e-4070-9a4d-e6a33c8cf8f6","isSidechain":false,`
		named    = `"uuid":"f7d3d45e-1ae0-4e2d-b6c7-9a2bebb318fe","timestamp":"2026-11-20T08:12:40.314Z"`
	)
	message := fmt.Sprintf(
		`"message":{"role":"user","content":[{"tool_use_id":"toolu_0000000001","type":"tool_result","content":"%s","is_error":false}]}`,
		code(size/2),
	)
	result := fmt.Sprintf(
		`"toolUseResult":{"stdout":"%s","stderr":"","interrupted":false,"isImage":false}`,
		code(size/2),
	)
	if late {
		return []byte(head + `"promptId":"885e0701-be93-4a2c-84ed-19e5e48e470e",` + message + `,"type":"user",` + named + `,` + result +
			`,"sourceToolAssistantUUID":"e1aae0a0-8377-4049-a2a2-f8210f51645c",` + envelope + `}`)
	}
	return []byte(head + envelope + `,"type":"user",` + message + `,` + named + `,` + result + `}`)
}

func BenchmarkScan(b *testing.B) {
	lines := map[string][]byte{
		"old layout":       toolResult(false, 2000),
		"new layout":       toolResult(true, 2000),
		"long tool result": toolResult(true, 200_000),
		"reading":          records(b)[1],
	}
	for name, line := range lines {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			var e transcript.Entry
			for b.Loop() {
				if scan(line, &e) != nil {
					b.Fatal("no record")
				}
			}
		})
	}
}

func BenchmarkFold(b *testing.B) {
	var lines [][]byte
	size := int64(0)
	for i := range 1000 {
		line := toolResult(i%2 == 0, 2000)
		if i%3 == 0 {
			line = []byte(reading(
				fmt.Sprintf("5d7a6047-8a6e-4070-9a4d-%012d", i),
				at(i%60),
				1000+i,
			))
		}
		lines = append(lines, line)
		size += int64(len(line)) + 1
	}
	b.SetBytes(size)
	b.ReportAllocs()
	var e transcript.Entry
	for b.Loop() {
		f := NewFold("x", false)
		for _, line := range lines {
			f.Line(line, len(line)+1, &e)
		}
	}
}

// TestCallsTakeNoMemory tests that an entry that is reused has room for its calls.
func TestCallsTakeNoMemory(t *testing.T) {
	lines := [][]byte{
		toolResult(true, 2000),
		[]byte(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls \"a b\"\n"}}]}}`),
	}
	var e transcript.Entry
	if n := testing.AllocsPerRun(10, func() {
		for _, line := range lines {
			if scan(line, &e) != nil || len(e.Calls) != 1 {
				t.Fatal("no call")
			}
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
