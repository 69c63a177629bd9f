package claude

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

// managed is a reading with what its message says of clearing, "" for nothing.
func managed(uuid, at string, tokens int, stop, clearing string) string {
	more := ""
	if stop != "" {
		more = fmt.Sprintf(`,"stop_reason":%q`, stop)
	}
	if clearing != "" {
		more += `,"context_management":` + clearing
	}
	line := reading(uuid, at, tokens)
	return line[:len(line)-2] + more + "}}"
}

// TestCleared: what was cleared is kept beside the context size, by the client's own rule;
// the context shrinks by it without any compaction.
func TestCleared(t *testing.T) {
	edit := func(kind, tokens string) string {
		return fmt.Sprintf(`{"type":%q,"cleared_tool_uses":3,"cleared_input_tokens":%s}`, kind, tokens)
	}
	const uses = "clear_tool_uses_20250919"
	full := managed("a", at(1), 150, "tool_use", "")
	tests := map[string]struct {
		lines []string
		want  transcript.Reading
	}{
		"nothing": {[]string{full}, transcript.Reading{Tokens: 150}},
		"by the API": {[]string{
			full,
			managed("b", at(2), 60, "end_turn", `{"applied_edits":[`+edit(uses, "90")+`]}`),
		}, transcript.Reading{
			Tokens:  60,
			Cleared: 90,
		}},
		"by several edits": {[]string{
			full,
			managed(
				"b",
				at(2),
				60,
				"end_turn",
				`{"applied_edits":[`+edit(
					uses,
					"50",
				)+`,`+edit(
					"clear_thinking_20251015",
					"7",
				)+`,`+edit(
					uses,
					"40",
				)+`]}`,
			),
		}, transcript.Reading{
			Tokens:  60,
			Cleared: 90,
		}},
		"no edits": {[]string{full, managed("b", at(2), 160, "end_turn", `{"applied_edits":[]}`)}, transcript.Reading{
			Tokens: 160,
		}},
		"by the client": {[]string{
			full,
			managed(
				"b",
				at(2),
				60,
				"end_turn",
				`{"applied_edits":[],"client_cut_tool_uses":4,"client_estimated_cleared_input_tokens":80}`,
			),
		}, transcript.Reading{
			Tokens:  60,
			Cleared: 80,
		}},
		"by the client, without figure": {[]string{
			full,
			managed("b", at(2), 60, "end_turn", `{"client_cut_tool_uses":4}`),
		}, transcript.Reading{
			Tokens: 60,
		}},
		"less by the client's reckoning": {[]string{
			full,
			managed(
				"b",
				at(2),
				60,
				"end_turn",
				`{"applied_edits":[`+edit(uses, "90")+`],"client_estimated_cleared_input_tokens":70}`,
			),
		}, transcript.Reading{
			Tokens:  60,
			Cleared: 70,
		}},
		"more by the client's reckoning": {[]string{
			full,
			managed(
				"b",
				at(2),
				60,
				"end_turn",
				`{"applied_edits":[`+edit(uses, "90")+`],"client_estimated_cleared_input_tokens":120}`,
			),
		}, transcript.Reading{
			Tokens:  60,
			Cleared: 90,
		}},
		"more as the client measured": {[]string{
			full,
			managed(
				"b",
				at(2),
				60,
				"end_turn",
				`{"applied_edits":[`+edit(
					uses,
					"90",
				)+`],"client_estimated_cleared_input_tokens":120,"client_estimate_measured_from_prompts":true}`,
			),
		}, transcript.Reading{
			Tokens:  60,
			Cleared: 120,
		}},
		"line of a message that goes on": {[]string{
			managed(
				"a",
				at(1),
				60,
				"tool_use",
				`{"client_cut_tool_uses":4,"client_estimated_cleared_input_tokens":80}`,
			),
			managed("b", at(2), 70, "", ""),
		}, transcript.Reading{
			Tokens:  70,
			Cleared: 80,
		}},
		"no more after that": {[]string{
			managed(
				"a",
				at(1),
				60,
				"tool_use",
				`{"client_cut_tool_uses":4,"client_estimated_cleared_input_tokens":80}`,
			),
			managed("b", at(2), 70, "end_turn", ""),
		}, transcript.Reading{
			Tokens: 70,
		}},
		"not beyond a compaction": {[]string{
			managed(
				"a",
				at(1),
				60,
				"tool_use",
				`{"client_cut_tool_uses":4,"client_estimated_cleared_input_tokens":80}`,
			),
			boundary("c", at(2), "auto", 140, ""),
			managed("b", at(3), 30, "", ""),
		}, transcript.Reading{
			Tokens: 30,
		}},
		"not of this form": {[]string{managed(
			"b",
			at(2),
			60,
			"end_turn",
			`[{"client_cut_tool_uses":4,"client_estimated_cleared_input_tokens":80}]`,
		)}, transcript.Reading{
			Tokens: 60,
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := folded(t, test.lines...).Session
			got := s.Reading
			got.At = 0
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if want := 0; name != "not beyond a compaction" && s.Total() != want {
				t.Errorf("%d compactions", s.Total())
			}
			if got.Decision() != test.want.Tokens+test.want.Cleared {
				t.Errorf("decision by %d", got.Decision())
			}
		})
	}
}
