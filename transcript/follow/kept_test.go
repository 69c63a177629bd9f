package follow

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"

	"sm/transcript"
	"sm/transcript/claude"
)

// TestNoLineIsKept tests that neither a live file nor a worker keeps the memory of the last
// line.
func TestNoLineIsKept(t *testing.T) {
	line := fmt.Appendf(nil, `{"type":"assistant","uuid":"u","cwd":"/w","message":{"id":"m","model":"x","usage":{"input_tokens":7},`+
		`"content":[{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"/a"}}]},"pad":%q}`, strings.Repeat(
		"x",
		wideBytes,
	))
	t.Run("live", func(t *testing.T) {
		live := reading{fold: claude.NewFold("x", false)}
		b := bytes.Clone(line)
		first := weak.Make(&b[0])
		live.add(b, int64(len(b)))
		b = nil
		if runtime.GC(); first.Value() != nil {
			t.Error("the line is kept")
		}
		runtime.KeepAlive(&live)
	})
	t.Run("read", func(t *testing.T) {
		var first weak.Pointer[byte]
		p := newReader(t, claude.Format(), idA+".jsonl", append(line, '\n'))
		p.f.Records = func(string) func(*transcript.Entry) {
			return func(e *transcript.Entry) { first = weak.Make(&e.CWD[0]) }
		}
		changes := p.read(transcript.Cursor{}, false)
		if len(changes) != 1 || first == (weak.Pointer[byte]{}) {
			t.Fatal("the line is not read")
		}
		if runtime.GC(); first.Value() != nil {
			t.Error("the line is kept")
		}
		runtime.KeepAlive(p)
	})
}
