package hook

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript/jsonwalk"
)

var update = flag.Bool("update", false, "write the golden files anew")

func lines(t testing.TB, name string) [][]byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	noErrors(t, err)
	return slices.Collect(bytes.Lines(b))
}

// golden compares got with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		noErrors(t, os.WriteFile("testdata/"+name, got, 0o644))
	}
	want, err := os.ReadFile("testdata/" + name)
	noErrors(t, err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// TestCapturedHooks tests that captured payloads are the same after encoding and decoding.
func TestCapturedHooks(t *testing.T) {
	var out []byte
	for _, line := range lines(t, "hooks.jsonl") {
		p, err := Decode(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		p.SM = Origin{
			Agent: "web",
			PID:   4711,
			At:    time.Date(2026, 11, 20, 10, 0, 0, 123456789, time.UTC),
		}
		again, err := Decode(p.Encode())
		if diff := cmp.Diff(p, again); diff != "" || err != nil {
			t.Errorf("%s: error %v (-sent +received):\n%s", line, err, diff)
		}
		out = append(append(out, p.Encode()...), '\n')
	}
	golden(t, "hooks.golden.jsonl", out)
}

func TestCapturedStatus(t *testing.T) {
	var out []byte
	for _, line := range lines(t, "statusline.jsonl") {
		s, err := DecodeStatus(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		again, err := DecodeStatus(s.Encode())
		if diff := cmp.Diff(s, again); diff != "" || err != nil {
			t.Errorf("%s: error %v (-sent +received):\n%s", line, err, diff)
		}
		// used_percentage is the percentage of Tokens.
		n, known := s.Tokens()
		percent, has := s.Percent()
		if want := int(float64(n)/float64(s.Window.Size.Value)*100 + 0.5); known != has ||
			percent != want {
			t.Errorf(
				"%s: %d%% (%v) of %d tokens (%v), want %d%%",
				line,
				percent,
				has,
				n,
				known,
				want,
			)
		}
		out = append(append(out, s.Encode()...), '\n')
	}
	golden(t, "statusline.golden.jsonl", out)
}

// TestDecodeReport tests that on the wire a report and a payload differ only in the event.
func TestDecodeReport(t *testing.T) {
	s := Status{SessionID: "s", Model: "m[1m]", SM: Origin{Agent: "web", Pane: "%3"}}
	p, err := Decode(s.Encode())
	want := Payload{
		SessionID: "s",
		Event:     StatusLine,
		Model:     "m[1m]",
		SM:        s.SM,
	}
	if diff := cmp.Diff(want, p); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// fill sets every field, so that one that Decode or Encode ignores shows.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	for field, value := range v.Fields() {
		switch value.Interface().(type) {
		case json.RawMessage:
			value.SetBytes([]byte(`{"a":1}`))
			continue
		case Models:
			value.Set(reflect.ValueOf(Models{"a": 1, "b": 0}))
			continue
		case time.Time:
			value.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)))
			continue
		}
		switch value.Kind() {
		case reflect.Struct:
			fill(t, value)
		case reflect.String:
			value.SetString(field.Name)
		case reflect.Int, reflect.Int64:
			value.SetInt(int64(2 + field.Index[0]))
		case reflect.Float64:
			value.SetFloat(17)
		case reflect.Bool:
			value.SetBool(field.Name != "Null")
		default:
			t.Fatalf("%s: no value for a %s", field.Name, value.Type())
		}
	}
}

func TestEveryField(t *testing.T) {
	var p Payload
	fill(t, reflect.ValueOf(&p).Elem())
	p.SM.Pane = "%1"
	got, err := Decode(p.Encode())
	if diff := cmp.Diff(p, got); diff != "" || err != nil {
		t.Errorf("payload: error %v (-sent +received):\n%s", err, diff)
	}
	var s Status
	fill(t, reflect.ValueOf(&s).Elem())
	s.SM.Pane = "%1"
	report, err := DecodeStatus(s.Encode())
	if diff := cmp.Diff(s, report); diff != "" || err != nil {
		t.Errorf("report: error %v (-sent +received):\n%s", err, diff)
	}
}

func TestDecodeTolerates(t *testing.T) {
	tests := []struct {
		name, in string
		want     Payload
	}{
		{"nothing", `{}`, Payload{}},
		{"wrong types", `{"session_id":7,"cwd":[],"hook_event_name":"Stop","stop_hook_active":"yes","prompt":{},"tool_input":"x","sm":[1],"reason":null}`, Payload{
			Event: Stop,
		}},
		{"unknown event and member", `{"hook_event_name":"DirectoryAdded","new":[{"a":"}"}],"session_id":"s"}`, Payload{
			Event:     "DirectoryAdded",
			SessionID: "s",
		}},
		{"other case", `{"Session_ID":"a","SESSION_ID":"b","session_id ":"c"}`, Payload{}},
		{"escaped key", `{"session\u005fid":"s"}`, Payload{SessionID: "s"}},
		{"the last of two", `{"cwd":"/a","cwd":"/b"}`, Payload{CWD: "/b"}},
		{"control characters", `{"session_id":"a\nb","tool_name":"a\u007f","prompt":"a\nb"}`, Payload{
			Prompt: "a\nb",
		}},
		{
			"long id",
			`{"session_id":"` + strings.Repeat(
				"s",
				129,
			) + `","cwd":"/` + strings.Repeat(
				"d",
				4096,
			) + `"}`,
			Payload{},
		},
		{"long text", `{"error":"` + strings.Repeat("é", 600) + `"}`, Payload{
			Error: strings.Repeat("é", 512),
		}},
		{"subagent", `{"agent_id":"a1"}`, Payload{AgentID: "a1"}},
		{"invalid subagent", `{"agent_id":12}`, Payload{AgentID: "?"}},
		{"no subagent", `{"agent_id":""}`, Payload{}},
		{"null subagent", `{"agent_id":null}`, Payload{}},
		{"origin", `{"sm":{"agent":"web","pane":"%12","pid":1,"server":0,"tmux":5,"at":"yesterday"}}`, Payload{
			SM: Origin{Agent: "web", Pane: "%12"},
		}},
		{"pane that is a name", `{"sm":{"pane":"agent:0.1","pid":2.5}}`, Payload{}},
		{"time in another zone", `{"sm":{"at":"2026-01-02T03:04:05.5+02:00"}}`, Payload{
			SM: Origin{At: time.Date(2026, 1, 2, 1, 4, 5, 5e8, time.UTC)},
		}},
		{"time before time", `{"sm":{"at":"0001-01-01T00:00:00Z"}}`, Payload{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Decode([]byte(tt.in))
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
			if got.Subagent() != (tt.want.AgentID != "") {
				t.Errorf("subagent: %v", got.Subagent())
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, in := range []string{
		``, ` `, `null`, `[{}]`, `"{}"`, `{`, `{"a`, `{"a\"`, `{"a"`, `{"a":`, `{"a":1`, `{"a":"x`, `{"a":[{`, `{"a":["`,
		`{"a":1,`, `{"a":"x" `, `{,}`, `{a:1}`, `{"a" 1}`, `{"a":}`, `{"a":,"b":1}`, `{"a":1 "b":2}`, `{"a":1,}`, `{"a":]}`, `{"source":`,
		`{}{}`, `{"a":1}x`, `{"a":[01,nul],"b":{1:2},"cwd":"/a"}`,
	} {
		_, err := Decode([]byte(in))
		_, err2 := DecodeStatus([]byte(in))
		err3 := Unmarshal([]byte(in), new(ContextUsage))
		want := jsonwalk.ErrNotJSON
		if err != want || err2 != want || err3 != want {
			t.Errorf("%s: errors %v, %v, %v", in, err, err2, err3)
		}
	}
}

// TestEncodeFits tests that large payloads are shortened: a tool may print a megabyte, and
// the observer accepts 64 KiB.
func TestEncodeFits(t *testing.T) {
	big := strings.Repeat(`\u0001<&\"`, 100_000)
	path := strings.Repeat(`\"`, 4096)
	hostile := `{"session_id":"s","hook_event_name":"PostToolUse","transcript_path":"` + path + `","cwd":"` + path + `","prompt":"` + big +
		`","error":"` + big + `","message":"` + big +
		`","tool_response":{"stdout":"` + big + `"},"tool_input":{"content":"` + big + `","file_path":"/a","list":[1, 2]},"sm":{"tmux":"` + path + `"}}`
	p, err := Decode([]byte(hostile))
	noErrors(t, err)
	if want := `{"file_path":"/a","list":[1,2]}`; string(p.ToolInput) != want {
		t.Errorf("tool_input %s, want %s", p.ToolInput, want)
	}
	b := p.Encode()
	if len(b) > MaxBody || !json.Valid(b) {
		t.Errorf("%d bytes, valid %v", len(b), json.Valid(b))
	}
	got, err := Decode(b)
	if err != nil || got.SessionID != "s" || got.Event != PostToolUse || got.Prompt == "" {
		t.Errorf("error %v, %+v", err, got)
	}
	s, err := DecodeStatus([]byte(`{"transcript_path":"` + path + `","cwd":"` + path + `","workspace":{"current_dir":"` + path +
		`","project_dir":"` + path + `"},"sm":{"tmux":"` + path + `"}}`))
	if b := s.Encode(); err != nil || len(b) > MaxBody {
		t.Errorf("report: error %v, %d bytes", err, len(b))
	}
}

func TestContextUsage(t *testing.T) {
	for in, want := range map[string]ContextUsage{
		`{"session_id":"a","used_percentage":52.5,"total_input_tokens":1.04e5,"context_window_size":200000}`: {
			SessionID:         "a",
			UsedPercentage:    new(52.5),
			TotalInputTokens:  104000,
			ContextWindowSize: 200000,
		},
		`{"session_id":"a","event":"compaction","trigger":"auto","used_percentage":null}`: {
			SessionID: "a",
			Event:     "compaction",
			Trigger:   "auto",
		},
		`{"session_id":["a"],"used_percentage":"52","total_input_tokens":-1,"context_window_size":0.5}`: {},
	} {
		var got ContextUsage
		err := Unmarshal([]byte(in), &got)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", in, err, diff)
		}
	}
}

func TestAnswer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer Answer
		want   string
	}{
		{"nothing", Answer{Event: PostToolUse}, ""},
		{"context", Answer{
			Event:   PostToolUse,
			Context: "[sm context] <52%> #a1b2c3\n",
		}, `{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"[sm context] <52%> #a1b2c3\n"}}`},
		{"prompt", Answer{
			Event:   UserPromptSubmit,
			Context: "a",
		}, `{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"a"}}`},
		{"stop", Answer{
			Event:   Stop,
			Context: "a",
		}, `{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"a"}}`},
		{"start", Answer{
			Event:   SessionStart,
			Context: "a",
		}, `{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"a"}}`},
		{"deny", Answer{
			Event: PreToolUse,
			Deny:  "full",
		}, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"full"}}`},
		{"deny too late", Answer{Event: PostToolUse, Deny: "full"}, ""},
		{"before a compaction", Answer{Event: PreCompact, Context: "a", Deny: "b"}, ""},
		{"after it", Answer{Event: PostCompact, Context: "a"}, ""},
		{"the end", Answer{Event: SessionEnd, Context: "a"}, ""},
		{"report", Answer{Event: StatusLine, Context: "a"}, ""},
		{"unknown event", Answer{Event: "New", Context: "a"}, ""},
	} {
		if got := string(tt.answer.Encode()); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 4, ""},
		{"abcd", 4, "abcd"},
		{"abcde", 4, "ab …"},
		{"ééééé", 4, "éé …"},
		{
			"😀😀",
			4,
			"😀😀",
		},
		{
			"😀😀😀",
			5,
			"😀 …",
		},
		{
			"a\xffb",
			4,
			"a\uFFFDb",
		},
		{
			"\xff\xff\xff\xff\xff",
			4,
			"\uFFFD",
		},
	} {
		if got := Clip(tt.in, tt.n); got != tt.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
	long := Answer{Event: Stop, Context: strings.Repeat("ä😀\n", 10_000)}.Encode()
	var out struct {
		Output struct {
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	noErrors(t, json.Unmarshal(long, &out))
	if n := len([]rune(out.Output.Context)) * 4 / 3; n > MaxCharacters ||
		n < MaxCharacters-8 {
		t.Errorf("about %d characters, want %d", n, MaxCharacters)
	}
}

func TestKnownEvents(t *testing.T) {
	for _, e := range []Event{SessionStart, StopFailure, Notification, StatusLine} {
		if !e.Known() {
			t.Errorf("%s is unknown", e)
		}
	}
	if e := Event("Elicitation"); e.Known() || e.Answered() || PreCompact.Answered() ||
		!PreToolUse.Answered() {
		t.Error("an event without a meaning is known, or one is answered that must not be")
	}
}

// TestDecodeAnswer tests that an answer is the same after encoding and decoding, and that
// anything else is no answer.
func TestDecodeAnswer(t *testing.T) {
	for _, a := range []Answer{{
		Event:   Stop,
		Context: "go on <so>",
	}, {
		Event:   SubagentStart,
		Context: "é",
	}, {
		Event: PreToolUse,
		Deny:  "no",
	}} {
		got, ok := DecodeAnswer(a.Encode())
		if diff := cmp.Diff(a, got); diff != "" || !ok {
			t.Errorf("ok %v (-sent +received):\n%s", ok, diff)
		}
	}
	for _, s := range []string{
		"",
		"{}",
		"[]",
		`{"line":"x"}`,
		`{"hookSpecificOutput":{"hookEventName":"Stop"}}`,
		`{"hookSpecificOutput":{"permissionDecision":"allow","permissionDecisionReason":"x"}}`,
	} {
		if a, ok := DecodeAnswer([]byte(s)); ok {
			t.Errorf("%s is read as %+v", s, a)
		}
	}
}

func noErrors(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
