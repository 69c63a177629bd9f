package claude

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"

	"sm/transcript"
)

// TestAttachmentTakesNoMemory tests that an attachment of a type without a meaning needs no
// memory besides its line, however many strings it has.
func TestAttachmentTakesNoMemory(t *testing.T) {
	line := fmt.Appendf(
		nil,
		`{"type":"attachment","attachment":{"type":"other","content":[%s""]}}`,
		strings.Repeat(`"",`, 1_000_000),
	)
	f := NewFold("x", false)
	e := transcript.Entry{}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := f.Line(line, len(line)+1, &e); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("it took %d bytes", n)
	}
}

// TestFoldKeepsNoLine tests that a fold keeps neither a long line in memory, nor much of it.
func TestFoldKeepsNoLine(t *testing.T) {
	for _, record := range []string{
		`"attachment","attachment":{"type":"hook_additional_context","content":[%s]}`,
		`"attachment","attachment":{"type":"other","content":[%s]}`,
		`"user","message":{"content":[{"type":"text","text":"x"},{"type":"other","content":[%s]}]}`,
		`"assistant","message":{"id":"m","model":"x","usage":{"input_tokens":7},"content":[{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"/a","x":[%s]}}]}`,
	} {
		f := NewFold("x", false)
		f.KeepBills()
		line := fmt.Appendf(
			nil,
			`{"timestamp":"2026-11-20T08:13:30.067Z","uuid":"u","cwd":"/w","version":"2.1.0","type":`+record+`}`,
			strings.Repeat(`"said",`, 100_000)+`""`,
		)
		begin := weak.Make(&line[0])
		if _, err := f.Line(line, len(line)+1, &transcript.Entry{}); err != nil {
			t.Fatal(err)
		}
		line = nil
		if runtime.GC(); begin.Value() != nil {
			t.Errorf("%s: the line is kept", record)
		}
	}
}
