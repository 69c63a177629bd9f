package follow

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/codex"
)

// told is a transcript for the tests that cut it.
type told struct {
	name   string
	format *transcript.Format
	path   string // below a root
	text   []byte
	step   int                // which offsets are tried
	least  transcript.Session // of what a dull one would have less
}

// codexName is the name of a file of idA's thread.
const codexName = "rollout-2026-11-20T08-00-00-" + idA + ".jsonl"

// stories are transcripts of each client, with all that a fold remembers from line to line.
func stories(t *testing.T) (all []told) {
	t.Helper()
	all = []told{{
		"claude", claude.Format(), filepath.Join("-p", idA+".jsonl"), story(60_000), 1,
		transcript.Session{
			Compactions:  transcript.TriggerCounts{4, 4, 5},
			Bad:          6,
			SideMessages: 3,
			Turns:        20,
			Messages:     20,
		},
	}}
	codexFormat := codex.Format(nil)
	day := filepath.Join("2026", "11", "20")
	for _, of := range []struct {
		kind  codexKind
		least transcript.Session
	}{
		{"thread", transcript.Session{
			Compactions: transcript.TriggerCounts{3, 2, 1},
			Bad:         3,
			Turns:       9,
			Messages:    15,
		}},
		{"subagent", transcript.Session{
			Compactions: transcript.TriggerCounts{3, 2, 1},
			Bad:         3,
			Turns:       9,
			Messages:    15,
		}},
		{"fork", transcript.Session{
			Compactions: transcript.TriggerCounts{3, 2, 0},
			Bad:         3,
			Turns:       9,
			Messages:    13,
		}},
		{"old", transcript.Session{
			Compactions: transcript.TriggerCounts{3, 2, 0},
			Bad:         3,
			Turns:       9,
			Messages:    13,
		}},
	} {
		all = append(
			all,
			told{
				"codex/" + string(of.kind),
				codexFormat,
				filepath.Join(day, codexName),
				codexStory(of.kind, 30_000),
				1,
				of.least,
			},
		)
	}
	for _, scenario := range []string{"manual-compact", "api-errors"} { // of the real client
		names, err := filepath.Glob("../codex/testdata/transcripts/" + scenario + "/sessions/*/*/*/*.jsonl")
		if err != nil || len(names) != 1 {
			t.Fatalf("%v: %v", names, err)
		}
		text, err := os.ReadFile(names[0])
		if err != nil {
			t.Fatal(err)
		}
		all = append(
			all,
			told{"codex/" + scenario, codexFormat, filepath.Join(day, codexName), text, 29, transcript.Session{}},
		)
	}
	return all
}

// story is a transcript of about n bytes with all that a fold remembers from line
// to line: messages of several lines, replays, compactions in each shape, titles,
// records without names, bad lines and blank ones.
func story(n int) []byte {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	at := func(i, ms int) string { return fmt.Sprintf("2026-11-20T08:%02d:%02d.%03dZ", i/60%60, i%60, ms) }
	line(`{"type":"assistant","message":{"usage":{"input_tokens":900,"output_tokens":3}}}`)
	line(`{"type":"summary","summary":"A title that counts, while no record names a version","leafUuid":"t"}`)
	line(`{"type":"assistant","message":{"usage":{"input_tokens":400,"output_tokens":3}}}`)
	for i := 0; b.Len() < n; i++ {
		stamp := at(i, 0)
		line(`{"type":"user","uuid":"p%d","timestamp":"%s","version":"2.1.197","cwd":"/home/dev/w%d","sessionId":"s","message":{"role":"user","content":"%s"}}`,
			i, stamp, i/20, strings.Repeat("do é ", i%40))
		for part := range 3 { // one message, its output growing
			line(`{"type":"assistant","uuid":"a%d-%d","timestamp":"%s","version":"2.1.197","sessionId":"s","message":{"id":"m%d","model":"claude-sonnet-4-5","content":[{"type":"text","text":"x\n"}],"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d}}}`,
				i, part, at(i, part), i, 3, 1000*i, 1+part*part)
			if part == 1 && i%3 == 0 {
				line(
					`{"type":"user","uuid":"r%d","timestamp":"%s","message":{"content":[{"type":"tool_result","content":"ok"}]}}`,
					i,
					stamp,
				)
			}
		}
		switch i % 11 {
		case 2:
			line(
				`{"type":"assistant","uuid":"a%d-1","timestamp":"%s","message":{"id":"m%d","usage":{"input_tokens":9,"output_tokens":99}}}`,
				i-1,
				stamp,
				i-1,
			) // a replay
		case 3:
			line(
				`{"type":"system","subtype":"compact_boundary","uuid":"b%d","timestamp":"%s","compactMetadata":{"trigger":"auto","preTokens":%d}}`,
				i,
				at(i, 9),
				1000*i,
			)
			line(
				`{"type":"user","isCompactSummary":true,"uuid":"s%d","parentUuid":"b%d","timestamp":"%s","message":{"content":"%s"}}`,
				i,
				i,
				at(i, 9),
				strings.Repeat("It went so. ", 30),
			)
		case 5: // the summary first
			line(
				`{"type":"user","isCompactSummary":true,"uuid":"s%d","timestamp":"%s","message":{"content":"%s"}}`,
				i,
				at(i, 7),
				strings.Repeat("It went well. ", 30),
			)
			line(
				`{"type":"system","subtype":"compact_boundary","uuid":"b%d","timestamp":"%s","compactMetadata":{"trigger":"manual","preTokens":%d,"preservedSegment":{"anchorUuid":"s%d"}}}`,
				i,
				at(i, 8),
				1000*i,
				i,
			)
		case 6:
			line("{\"type\":\"assistant\",\nnot JSON\n\n \t \n[1]")
		case 7:
			line(`{"type":"summary","summary":"A title","leafUuid":"a%d-0"}`, i)
		case 8:
			line(
				`{"type":"assistant","isSidechain":true,"uuid":"c%d","timestamp":"%s","message":{"id":"mc%d","usage":{"input_tokens":50,"output_tokens":5}}}`,
				i,
				stamp,
				i,
			)
		case 9:
			line(
				`{"type":"user","isCompactSummary":true,"uuid":"o%d","forkedFrom":{"sessionId":"x","messageUuid":"y%d"},"timestamp":"%s","message":{"content":"%s"}}`,
				i,
				i,
				at(i, 5),
				strings.Repeat("Once more. ", 30),
			)
		default:
			line(
				`{"type":"system","subtype":"turn_duration","uuid":"t%d","timestamp":"%s","durationMs":5}`,
				i,
				at(i, 10),
			)
		}
	}
	return b.Bytes()
}

// codexKind is what a thread of Codex is.
type codexKind string

// codexStory is a thread of Codex of about n bytes: turns of each kind, compactions in each shape, repeated and odd records. A
// subagent's begins with its parent's history, a fork of an old client's with copies of it; "old" ones say neither what began
// a turn nor what a response cost.
func codexStory(kind codexKind, n int) []byte {
	var b bytes.Buffer
	ordinal := 0
	at := "2026-11-20T08:00:00.000Z"
	old := kind == "old" || kind == "fork"
	line := func(of, payload string, v ...any) {
		ordinals := ""
		if !old {
			ordinals = fmt.Sprintf(`"ordinal":%d,`, ordinal)
			ordinal++
		}
		fmt.Fprintf(&b, `{"timestamp":%q,%s"type":%q,"payload":%s}`+"\n", at, ordinals, of, fmt.Sprintf(payload, v...))
	}
	event := func(of, members string, v ...any) {
		line("event_msg", `{"type":"`+of+`",`+members+"}", v...)
	}
	count := func(last, sum int) {
		event("token_count", `"info":{"last_token_usage":{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":40,"total_tokens":%d},"total_token_usage":{"input_tokens":%d,"total_tokens":%d},"model_context_window":258400},`+
			`"rate_limits":{"primary":{"used_percent":%d.5,"window_minutes":300,"resets_at":1795310598}}`, last-40, last/2, last, sum, sum, sum%100)
	}
	estimate := func(last, sum int) {
		event(
			"token_count",
			`"info":{"last_token_usage":{"total_tokens":%d},"total_token_usage":{"input_tokens":%d,"total_tokens":%d},"model_context_window":258400}`,
			last,
			sum,
			sum,
		)
	}
	copied := func() { // what is another thread's
		line("session_meta", `{"id":"%s","cli_version":"0.125.0"}`, idB)
		event("task_started", `"turn_id":"t","turn_attribution":{}`)
		event("user_message", `"message":"the parent's"`)
		if old {
			count(70_000, 70_000)
			line("compacted", `{"message":"SUMMARY"}`)
			estimate(6000, 70_000)
		}
		line("compacted", `{"message":"SUMMARY","window_id":"the parent's"}`)
		event("task_complete", `"turn_id":"t"`)
	}
	switch kind {
	case "subagent":
		line(
			"session_meta",
			`{"id":"%s","parent_thread_id":"%s","subagent_history_start_ordinal":6,"cli_version":"0.169.0","cwd":"/home/dev/w","git":{"branch":"fix"}}`,
			idA,
			idB,
		)
		copied()
	case "fork":
		line("session_meta", `{"id":"%s","forked_from_id":"%s","cli_version":"0.125.0"}`, idA, idB)
		copied()
	default:
		line("session_meta", `{"id":"%s","cli_version":"0.169.0","cwd":"/home/dev/w","git":{"branch":"HEAD"}}`, idA)
	}
	sum := 0
	response := func(i, part, tokens int) {
		sum += tokens
		if !old {
			line("token_usage_record", `{"thread_id":"%s","turn_id":"t%d","response_id":"r%d-%d","usage":{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":40,"total_tokens":%d}}`,
				idA, i, i, part, tokens-40, tokens/2, tokens)
		}
		line(
			"response_item",
			`{"type":"custom_tool_call","call_id":"c%d-%d","name":"apply_patch","input":"*** Begin Patch\n*** Update File: x%d.go\n"}`,
			i,
			part,
			i,
		)
		line(
			"response_item",
			`{"type":"custom_tool_call_output","call_id":"c%d-%d","output":"%s"}`,
			i,
			part,
			strings.Repeat("é\\n", i%30),
		)
		count(tokens, sum)
		if i%5 == 0 {
			count(tokens, sum) // a repeat
		}
	}
	for i := 0; b.Len() < n; i++ {
		at = fmt.Sprintf("2026-11-20T08:%02d:%02d.500Z", i/60%60, 10+i%50)
		manual := i%7 == 3
		attribution := `,"turn_attribution":{"turn_trigger":"user"}`
		if manual || old {
			attribution = ""
		}
		event("task_started", `"turn_id":"t%d","model_context_window":%d`+attribution, i, 258_400-i%3)
		line("turn_context", `{"turn_id":"t%d","model":"gpt-%d","cwd":"/home/dev/w%d"}`, i, 5+i/20%2, i/20)
		switch {
		case manual:
			if !old {
				line(
					"token_usage_record",
					`{"thread_id":"%s","turn_id":"t%d","response_id":"k%d","usage":{"input_tokens":90,"output_tokens":5,"total_tokens":95}}`,
					idA,
					i,
					i,
				)
			}
			line("compacted", `{"message":"SUMMARY","window_id":"w%d","compaction_response_id":"k%d"}`, i, i)
			estimate(5000+i, sum)
		case old:
			event("user_message", `"message":"do %s"`, strings.Repeat("it ", i%40))
		default:
			event(
				"item_completed",
				`"turn_id":"t%d","item":{"type":"UserMessage","content":[{"type":"text","text":"do %s"}]}`,
				i,
				strings.Repeat("it ", i%40),
			)
		}
		if !manual {
			response(i, 0, 20_000+1000*i)
			if i%2 == 0 {
				response(i, 1, 21_000+1000*i)
			}
		}
		switch i % 11 {
		case 0:
			line(
				"response_item",
				`{"type":"message","role":"developer","content":[{"text":"[sm context] at %d%% #%d"}]}`,
				i%100,
				i,
			)
		case 2, 6: // by itself, in the middle of a turn; its record once more
			for range 2 {
				line("compacted", `{"message":"","window_id":"a%d"}`, i)
			}
			estimate(7000+i, sum)
			response(i, 2, 9000+i)
		case 4:
			fmt.Fprint(&b, "{\"type\":\"event_msg\",\nnot JSON\n\n \t \n[1]\n")
		case 5: // the API has refused it
			event(
				"token_count",
				`"info":{"last_token_usage":{"total_tokens":100},"total_token_usage":{"total_tokens":258400},"model_context_window":258400}`,
			)
			event("task_complete", `"turn_id":"t%d","error":{"codex_error_info":"context_window_exceeded"}`, i)
		case 7:
			event("thread_rolled_back", `"num_turns":1`)
		case 8: // of clients before there were windows' ids
			line("compacted", `{"message":"SUMMARY"}`)
			estimate(8000+i, sum)
		case 9:
			event("turn_aborted", `"turn_id":"t%d","reason":"interrupted"`, i)
			if !old {
				line("compacted", `{"message":"","window_id":"u%d"}`, i) // between two turns
			}
		case 10:
			event(
				"item_completed",
				`"item":{"type":"CommandExecution","id":"exec-%d","command":["bash","-lc","go test"],"aggregated_output":"%s"}`,
				i,
				strings.Repeat("ok ", 1400),
			)
		}
		event("task_complete", `"turn_id":"t%d"`, i)
	}
	return b.Bytes()
}
