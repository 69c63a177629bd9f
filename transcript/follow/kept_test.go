package follow

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"

	"sm/transcript"
	"sm/transcript/claude"
)

// TestNoLineIsKept: neither a live file nor a worker keeps the memory of the last line.
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
			t.Error("it is kept")
		}
		runtime.KeepAlive(&live)
	})
	t.Run("read", func(t *testing.T) {
		var first weak.Pointer[byte]
		text := bytes.NewReader(append(line, '\n'))
		r := &fileReader{
			Options: Options{Stats: &Stats{}},
			out:     make(chan transcript.Change, 1),
			once:    true,
		}
		w := &workspace{buf: make([]byte, bufferBytes)}
		r.Records = func(string) func(*transcript.Entry) {
			return func(e *transcript.Entry) { first = weak.Make(&e.CWD[0]) }
		}
		s := &source{
			reading: reading{r: r, file: &file{format: claude.Format()}},
			text:    text,
			size:    text.Size(),
			stored:  text.Size(),
			whole:   true,
		}
		if err := s.readAll(
			context.Background(),
			w,
		); err != nil ||
			first == (weak.Pointer[byte]{}) {
			t.Fatal(err)
		}
		if runtime.GC(); first.Value() != nil {
			t.Error("it is kept")
		}
		runtime.KeepAlive(w)
	})
}
