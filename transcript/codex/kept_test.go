package codex

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"

	"sm/transcript"
)

// TestFoldKeepsNoLine tests that a fold does not keep a long line in memory.
func TestFoldKeepsNoLine(t *testing.T) {
	for _, item := range []string{
		`"event_msg","payload":{"type":"user_message","message":%q}`,
		`"event_msg","payload":{"type":"item_completed","turn_id":"t1","item":{"type":"CommandExecution","id":"c1","command":[%q]}}`,
		`"response_item","payload":{"type":"function_call","call_id":"c1","name":"shell","arguments":%q}`,
		`"session_meta","payload":{"id":"x","cwd":"/w","cli_version":"0.150.0","base_instructions":%q}`,
		`"turn_context","payload":{"model":"m","cwd":"/w","text":%q}`,
	} {
		f := NewFold(transcript.File{Name: "x"})
		f.KeepBills()
		line := fmt.Appendf(
			nil,
			`{"timestamp":"2026-11-20T08:13:30.067Z","type":`+item+`}`,
			strings.Repeat("x", 1<<20),
		)
		first := weak.Make(&line[0])
		if _, err := f.Line(line, len(line)+1, &transcript.Entry{}); err != nil {
			t.Fatal(err)
		}
		line = nil
		if runtime.GC(); first.Value() != nil {
			t.Errorf("%s: the line is kept", item)
		}
		runtime.KeepAlive(f)
	}
}
