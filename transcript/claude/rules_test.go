package claude

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

func TestCompactions(t *testing.T) {
	type want struct {
		Auto, Manual, Unknown int
	}
	first := reading("r1", at(1), 1000)
	const marker = `,"durationMs":0,"preservedMessages":{"anchorUuid":"b"}`
	title := `{"type":"summary","summary":"About it","leafUuid":"x"}`
	bare := `{"type":"assistant","message":{"usage":{"input_tokens":5}}}`
	tests := map[string]struct {
		lines []string
		want  want
	}{
		"boundary auto": {[]string{first, boundary("b", at(2), "auto", 9, "")}, want{Auto: 1}},
		"boundary manual": {[]string{first, boundary("b", at(2), "manual", 9, "")}, want{
			Manual: 1,
		}},
		"boundary of an unknown trigger": {[]string{boundary("b", at(2), "other", 9, "")}, want{Unknown: 1}},
		"boundary replayed": {[]string{boundary("b", at(2), "auto", 9, ""), boundary("b", at(2), "auto", 9, "")}, want{
			Auto: 1,
		}},
		"two boundaries": {[]string{boundary("b", at(2), "auto", 9, ""), boundary("c", at(3), "auto", 9, "")}, want{
			Auto: 2,
		}},
		"summary owned by its parent": {[]string{
			boundary("b", at(2), "auto", 9, ""),
			reading("r2", at(3), 1),
			boundary("c", at(4), "auto", 8, ""),
			summary("s", "b", at(2)),
			summary("u", "c", at(4)),
		}, want{
			Auto: 2,
		}},
		"summary owned by the anchor": {[]string{
			boundary("b", at(2), "auto", 9, `,"preservedSegment":{"anchorUuid":"s"}`),
			first,
			summary("s", "elsewhere", at(2)),
		}, want{
			Auto: 1,
		}},
		"summary owned by preserved messages": {[]string{
			boundary("b", at(2), "auto", 9, `,"preservedMessages":{"anchorUuid":"s"}`),
			first,
			summary("s", "elsewhere", at(2)),
		}, want{
			Auto: 1,
		}},
		"summary owned by the newest boundary": {[]string{
			boundary("b", at(2), "auto", 9, ""),
			summary("s", "elsewhere", at(2)),
		}, want{
			Auto: 1,
		}},
		"second summary owned by none": {[]string{
			boundary("b", at(2), "auto", 9, ""),
			summary("s", "b", at(2)),
			summary("u", "elsewhere", at(3)),
		}, want{
			Auto:    1,
			Unknown: 1,
		}},
		"summary before the boundary naming it": {
			[]string{first, summary("s", "b", at(2)), boundary("b", at(2), "manual", 9, "")}, want{Manual: 1}},
		"summary before the boundary anchored to it": {
			[]string{
				first,
				summary("s", "r1", at(2)),
				boundary("b", at(2), "auto", 9, `,"preservedSegment":{"anchorUuid":"s"}`),
			}, want{
				Auto: 1,
			}},
		"summary before a boundary of its own": {
			[]string{first, summary("s", "r1", at(2)), boundary("b", at(3), "auto", 9, "")}, want{Auto: 1, Unknown: 1}},
		"summary alone, of an early client": {[]string{first, summary("s", "r1", at(2))}, want{Unknown: 1}},
		"summary alone, replayed": {[]string{first, summary("s", "r1", at(2)), summary("s", "r1", at(2))}, want{
			Unknown: 1,
		}},
		"titles of a real client":            {[]string{title, first, title, title}, want{}},
		"title in a bare file":               {[]string{bare, title}, want{Unknown: 1}},
		"title in a bare file, repeated":     {[]string{bare, title, title, bare, title}, want{Unknown: 2}},
		"title in a bare file, before usage": {[]string{title, bare}, want{}},
		"title once a version was named":     {[]string{`{"type":"user","version":"1.0.17"}`, bare, title}, want{}},
		"marker alone":                       {[]string{first, boundary("b", at(2), "auto", 9, marker)}, want{}},
		"marker with a summary": {[]string{
			first,
			boundary("b", at(2), "auto", 9, marker),
			summary("s", "b", at(2)),
		}, want{
			Auto: 1,
		}},
		"marker behind a compaction": {[]string{
			first,
			boundary("c", at(2), "auto", 9, ""),
			summary("s", "c", at(2)),
			boundary("b", at(3), "auto", 9, marker),
		}, want{
			Auto: 1,
		}},
		"its own anchor, but it took a while": {[]string{
			first,
			boundary("b", at(2), "auto", 9, `,"durationMs":5,"preservedMessages":{"anchorUuid":"b"}`),
		}, want{
			Auto: 1,
		}},
		"microcompact": {[]string{first,
			`{"type":"system","subtype":"microcompact_boundary","uuid":"m","timestamp":"2026-11-20T08:00:02.000Z","compactMetadata":{"trigger":"auto","preTokens":9}}`}, want{}},
		"boundary of a subagent": {[]string{first, side(boundary("b", at(2), "auto", 9, ""))}, want{}},
		"summary of a subagent":  {[]string{first, side(summary("s", "r1", at(2)))}, want{}},
		"boundary told inside a result": {
			[]string{
				first,
				prompted(
					"p",
					`[{"type":"tool_result","content":"{\"type\":\"system\",\"subtype\":\"compact_boundary\"}"}]`,
				),
			},
			want{},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := folded(t, test.lines...)
			c := f.Session.Compactions
			if d := cmp.Diff(
				test.want,
				want{c[transcript.Auto], c[transcript.Manual], c[transcript.Unknown]},
			); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if _, list := f.Take(); len(list) != f.Session.Total() {
				t.Errorf("%d compactions taken, %d counted", len(list), f.Session.Total())
			}
		})
	}
}

// call is an element of iterations.
func call(kind string, input int) string {
	return fmt.Sprintf(
		`{"type":%q,"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":2}`,
		kind,
		input,
	)
}

func TestContext(t *testing.T) {
	usage := func(u string) string { return message("u", at(1), "msg", u) }
	tests := map[string]struct {
		lines []string
		want  int64 // 0: unknown
		peak  int64
	}{
		"nothing": {nil, 0, 0},
		"newest by time, not by place": {
			[]string{reading("a", at(5), 500), reading("b", at(3), 900)},
			500,
			900,
		},
		"of equal times the later line": {
			[]string{reading("a", at(5), 500), reading("b", at(5), 400)},
			400,
			500,
		},
		"unknown behind a boundary": {
			[]string{reading("a", at(1), 500), boundary("b", at(2), "auto", 500, "")},
			0,
			500,
		},
		"known again behind the next reply": {
			[]string{reading("a", at(1), 500), boundary("b", at(2), "auto", 500, ""), reading("c", at(3), 50)},
			50,
			500,
		},
		"boundary older than the reading": {
			[]string{reading("a", at(5), 500), boundary("b", at(2), "auto", 500, "")},
			500,
			500,
		},
		"boundary and reading at one time": {
			[]string{boundary("b", at(2), "auto", 500, ""), reading("a", at(2), 60)},
			60,
			60,
		},
		"reading and boundary at one time": {
			[]string{reading("a", at(2), 60), boundary("b", at(2), "auto", 500, "")},
			0,
			60,
		},
		"copied reading older than a boundary": {
			[]string{boundary("b", at(4), "auto", 500, ""), reading("a", at(2), 60)},
			0,
			60,
		},
		"known behind a marker": {
			[]string{
				reading("a", at(1), 500),
				boundary("b", at(2), "auto", 500, `,"durationMs":0,"preservedMessages":{"anchorUuid":"b"}`),
			},
			500,
			500,
		},
		"unknown behind a summary alone": {[]string{reading("a", at(1), 500), summary("s", "a", at(2))}, 0, 500},
		"replay of an old reading": {
			[]string{reading("a", at(1), 500), reading("b", at(1), 600), reading("a", at(1), 500)},
			600,
			600,
		},
		"subagent": {
			[]string{reading("a", at(1), 500), side(reading("b", at(2), 9000))},
			500,
			500,
		},
		"synthetic": {
			[]string{
				reading("a", at(1), 500),
				`{"type":"assistant","uuid":"s","timestamp":"2026-11-20T08:00:09.000Z","message":{"model":"<synthetic>","usage":{"input_tokens":7}}}`,
			},
			500,
			500,
		},
		"error of the API": {
			[]string{reading("a", at(1), 500), `{"isApiErrorMessage":true,` + reading("b", at(2), 7)[1:]},
			500,
			500,
		},
		"usage of zeros": {[]string{reading("a", at(1), 500), reading("b", at(2), 0)}, 500, 500},
		"input and cache, no output": {
			[]string{usage(`{"input_tokens":1,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":4000}`)},
			321,
			321,
		},
		"nested cache alone": {
			[]string{usage(`{"input_tokens":1,"cache_creation":{"ephemeral_5m_input_tokens":20,"ephemeral_1h_input_tokens":300}}`)},
			321,
			321,
		},
		"nested cache and the same at the top": {
			[]string{usage(`{"input_tokens":1,"cache_creation_input_tokens":320,"cache_creation":{"ephemeral_5m_input_tokens":20,"ephemeral_1h_input_tokens":300}}`)},
			321,
			321,
		},
		"nested cache smaller than the top": {
			[]string{usage(`{"cache_creation_input_tokens":320,"cache_creation":{"ephemeral_5m_input_tokens":20}}`)},
			320,
			320,
		},
		"one iteration": {
			[]string{usage(`{"input_tokens":9,"iterations":[` + call("message", 5) + `]}`)},
			5,
			5,
		},
		"one iteration without all figures": {
			[]string{usage(`{"input_tokens":9,"iterations":[{"type":"message","input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}]}`)},
			9,
			9,
		},
		"one iteration of nothing": {
			[]string{usage(`{"input_tokens":9,"iterations":[` + call("message", 0) + `]}`)},
			9,
			9,
		},
		"last message of several iterations": {
			[]string{usage(`{"input_tokens":9,"iterations":[` + call(
				"message",
				5,
			) + `,` + call(
				"message",
				4,
			) + `,` + call(
				"advisor_message",
				99,
			) + `]}`)},
			4,
			4,
		},
		"iteration of a model that stood in": {
			[]string{usage(`{"input_tokens":9,"iterations":[` + call(
				"message",
				5,
			) + `,` + call(
				"fallback_message",
				7,
			) + `]}`)},
			7,
			7,
		},
		"iteration of a compaction at the end": {
			[]string{usage(`{"input_tokens":9,"iterations":[` + call(
				"message",
				5,
			) + `,` + call(
				"compaction",
				70,
			) + `]}`)},
			5,
			5,
		},
		"iteration of a kind unheard of last": {
			[]string{usage(`{"input_tokens":9,"iterations":[` + call("message", 5) + `,` + call("x", 70) + `]}`)},
			9,
			9,
		},
		"iteration that is none last": {
			[]string{usage(`{"input_tokens":9,"iterations":[` + call("message", 5) + `,null]}`)},
			9,
			9,
		},
		"iterations without a message": {
			[]string{usage(`{"input_tokens":9,"iterations":[{"type":"x","input_tokens":5},{}]}`)},
			9,
			9,
		},
		"usage in progress and tool results": {
			[]string{
				reading("a", at(1), 500),
				`{"type":"progress","data":{"message":{"type":"assistant","message":{"usage":{"input_tokens":9}}}}}`,
				`{"type":"user","toolUseResult":{"usage":{"input_tokens":9}},"message":{"content":[{"type":"tool_result","usage":{"input_tokens":9}}]}}`,
			},
			500,
			500,
		},
		"records without times, in file order": {
			[]string{
				`{"type":"assistant","message":{"usage":{"input_tokens":5}}}`,
				`{"type":"assistant","message":{"usage":{"input_tokens":4}}}`,
			},
			4,
			5,
		},
		"forged figures are cut": {
			[]string{usage(`{"input_tokens":1e30,"cache_read_input_tokens":9223372036854775807,"cache_creation_input_tokens":-4}`)},
			2e9,
			2e9,
		},
		"file with a stray of another session": {
			[]string{
				`{"sessionId":"x",` + reading("a", at(9), 500)[1:],
				`{"sessionId":"y",` + reading("b", at(1), 70)[1:],
			},
			70,
			500,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := folded(t, test.lines...).Session
			got, ok := s.Context()
			if ok != (test.want > 0) || ok && got != test.want || s.Peak != test.peak {
				t.Errorf("context %d (known: %v), peak %d; want %d, %d", got, ok, s.Peak, test.want, test.peak)
			}
		})
	}
}

func TestTurns(t *testing.T) {
	end := `{"type":"system","subtype":"turn_duration","durationMs":5,"uuid":"end"}`
	tests := map[string]struct {
		lines []string
		turns int
		in    bool
	}{
		"prompt": {[]string{prompted("a", `"hello"`)}, 1, true},
		"prompt in blocks": {
			[]string{prompted("a", `[{"type":"image"},{"type":"text","text":"hello"}]`)},
			1,
			true,
		},
		"prompt of an image alone": {[]string{prompted("a", `[{"type":"image"}]`)}, 1, true},
		"meta":                     {[]string{`{"isMeta":true,` + prompted("a", `"Caveat"`)[1:]}, 0, false},
		"command":                  {[]string{prompted("a", `"<command-name>/clear</command-name>"`)}, 0, false},
		"command with its message": {[]string{prompted("a", `"\n  <command-message>x</command-message>"`)}, 0, false},
		"output of a command": {
			[]string{prompted("a", `"<local-command-stdout></local-command-stdout>"`)},
			0,
			false,
		},
		"shell input": {[]string{prompted("a", `"<bash-input>ls</bash-input>"`)}, 0, false},
		"tool result": {
			[]string{prompted("a", `[{"tool_use_id":"x","type":"tool_result","content":"hello"}]`)},
			0,
			false,
		},
		"tool result behind text": {
			[]string{prompted("a", `[{"type":"text","text":"x"},{"type":"tool_result"}]`)},
			0,
			false,
		},
		"no content": {
			[]string{
				`{"type":"user","uuid":"a","message":{}}`,
				prompted("b", `[]`),
				prompted("c", `null`),
				prompted("d", `{}`),
			},
			0,
			false,
		},
		"ended":       {[]string{prompted("a", `"hello"`), end}, 1, false},
		"begun again": {[]string{prompted("a", `"hello"`), end, prompted("b", `"more"`)}, 2, true},
		"interrupted": {
			[]string{
				prompted("a", `"hello"`),
				prompted("b", `[{"type":"text","text":"[Request interrupted by user]"}]`),
			},
			1,
			false,
		},
		"interrupted in a tool": {
			[]string{prompted("a", `"hello"`), prompted("b", `"[Request interrupted by user for tool use]"`)},
			1,
			false,
		},
		"replayed":      {[]string{prompted("a", `"hello"`), end, prompted("a", `"hello"`)}, 1, false},
		"of a subagent": {[]string{side(prompted("a", `"hello"`))}, 0, false},
		"summary":       {[]string{summary("a", "b", at(1))}, 0, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := folded(t, test.lines...).Session
			if s.Turns != test.turns || s.InTurn != test.in {
				t.Errorf("%d turns, in one: %v; want %d, %v", s.Turns, s.InTurn, test.turns, test.in)
			}
		})
	}
}
