package claude

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

// TestIdleCompactions: compactions of idle conversations have a trigger of their own,
// although the client writes "auto".
func TestIdleCompactions(t *testing.T) {
	const (
		turnEnd   = `{"type":"system","subtype":"turn_duration","uuid":"e"}`
		notice    = `{"type":"system","subtype":"informational","uuid":"n","content":"Compacted while idle, before the prompt cache expired"}`
		remark    = `{"type":"system","subtype":"informational","uuid":"n","content":"Unknown command: /x"}`
		precooked = `,"precomputed":true`
	)
	reply := reading("r1", at(2), 1000)
	auto := boundary("b", at(3), "auto", 1000, "")
	compacted := summary("s", "b", at(3))
	tests := map[string]struct {
		version string
		lines   []string
		want    transcript.TriggerCounts
	}{
		"behind the end of a turn":       {"2.1.299", []string{prompted("p", `"go"`), reply, turnEnd, auto}, transcript.TriggerCounts{transcript.Idle: 1}},
		"twice":                          {"2.1.299", []string{reply, turnEnd, auto, compacted, boundary("c", at(4), "auto", 9, "")}, transcript.TriggerCounts{transcript.Idle: 2}},
		"within a turn":                  {"2.1.299", []string{turnEnd, prompted("p", `"go"`), reply, auto}, transcript.TriggerCounts{transcript.Auto: 1}},
		"prompt that does not fit":       {"2.1.299", []string{reply, turnEnd, prompted("p", `"go"`), auto}, transcript.TriggerCounts{transcript.Auto: 1}},
		"turn of an unknown kind":        {"2.1.299", []string{turnEnd, reply, auto}, transcript.TriggerCounts{transcript.Auto: 1}},
		"by hand":                        {"2.1.299", []string{reply, turnEnd, boundary("b", at(3), "manual", 9, "")}, transcript.TriggerCounts{transcript.Manual: 1}},
		"client before idle compactions": {"2.1.298", []string{reply, turnEnd, auto}, transcript.TriggerCounts{transcript.Auto: 1}},
		"notice alone":                   {"2.1.299", []string{prompted("p", `"go"`), reply, auto, compacted, notice}, transcript.TriggerCounts{transcript.Idle: 1}},
		"notice behind a later reply":    {"2.1.299", []string{prompted("p", `"go"`), reply, auto, compacted, reading("r2", at(4), 50), notice}, transcript.TriggerCounts{transcript.Auto: 1}},
		"another notice":                 {"2.1.299", []string{prompted("p", `"go"`), reply, auto, compacted, remark}, transcript.TriggerCounts{transcript.Auto: 1}},
		"summary of the background":      {"2.1.299", []string{prompted("p", `"go"`), reply, boundary("b", at(3), "auto", 9, precooked)}, transcript.TriggerCounts{transcript.Auto: 1}},
		"summary from before the expiry": {"2.1.299", []string{reply, prompted("p", `"go"`), boundary("b", "2026-11-20T08:54:02.000Z", "auto", 9, precooked)}, transcript.TriggerCounts{transcript.Idle: 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, line := range test.lines {
				test.lines[i] = strings.ReplaceAll(line, `"2.1.0"`, `"`+test.version+`"`)
			}
			f := folded(t, test.lines...)
			if d := cmp.Diff(test.want, f.Session.Compactions); d != "" {
				t.Errorf("compactions (-want +got):\n%s", d)
			}
		})
	}
}

// TestIdleCompactionsOfClients folds transcripts that the client wrote.
func TestIdleCompactionsOfClients(t *testing.T) {
	want := map[string]int{"three-idle.jsonl": 3, "away-swap.jsonl": 1}
	got := map[string]int{}
	for name := range want {
		data, err := os.ReadFile(filepath.Join("testdata", "idle", name))
		if err != nil {
			t.Fatal(err)
		}
		f := folded(t, strings.Split(string(bytes.TrimSpace(data)), "\n")...)
		got[name] = f.Session.Compactions[transcript.Idle]
		if n := f.Session.Total(); n != got[name] {
			t.Errorf("%s: %d compactions, of them %d idle", name, n, got[name])
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("idle compactions (-want +got):\n%s", d)
	}
}

// TestPrecomputedDuration: the boundary of a summary written earlier has only the
// time to swap it in, which is not the duration of the compaction.
func TestPrecomputedDuration(t *testing.T) {
	f := folded(t, boundary("b", at(3), "auto", 9, `,"durationMs":11,"precomputed":true`))
	_, compactions := f.Take()
	if len(compactions) != 1 || compactions[0].Millis != 0 {
		t.Errorf("compactions %+v, want one without a duration", compactions)
	}
}
