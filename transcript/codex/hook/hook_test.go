package hook

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sm/transcript/claude/hook"
	"sm/transcript/codex/files"
)

var update = flag.Bool("update", false, "write the golden files anew")

func lines(t testing.TB, name string) [][]byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	noErrors(t, err)
	return slices.Collect(bytes.Lines(b))
}

// TestPayloads tests one payload of each kind, as sent by client 0.169.0.
func TestPayloads(t *testing.T) {
	var got []byte
	for _, line := range lines(t, "payloads.jsonl") {
		p, err := Decode(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got = append(append(got, p.Encode()...), '\n')
	}
	const name = "testdata/payloads.golden.jsonl"
	if *update {
		noErrors(t, os.WriteFile(name, got, 0o644))
	}
	want, err := os.ReadFile(name)
	noErrors(t, err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCaptured tests complete sessions of the client. Each payload is recognized as Codex's,
// is the same after encoding and decoding, and is about the thread whose transcript it names.
func TestCaptured(t *testing.T) {
	events := map[hook.Event]int{}
	for _, line := range lines(t, "captured.jsonl") {
		p, err := Decode(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		events[p.Event]++
		if !IsPayload(line) {
			t.Errorf("not recognized as Codex's: %s", line)
		}
		again, err := hook.Decode(p.Encode())
		if diff := cmp.Diff(p, again); diff != "" || err != nil {
			t.Errorf("%s: error %v (-sent +received):\n%s", line, err, diff)
		}
		if thread, ok := files.Thread(p.TranscriptPath); !ok || thread != p.SessionID {
			t.Errorf("session %q, transcript of %q: %s", p.SessionID, thread, line)
		}
		if p.Subagent() || p.SM.Client != "codex" ||
			IsSubagent(&p) != bytes.Contains(line, []byte(`"agent_id"`)) {
			t.Errorf("subagent %v, %+v: %s", IsSubagent(&p), p.SM, line)
		}
		var raw struct {
			Usage struct {
				Total int64 `json:"total_tokens"`
			} `json:"token_usage"`
		}
		noErrors(t, json.Unmarshal(line, &raw))
		if p.ContextTokens != raw.Usage.Total {
			t.Errorf("%d tokens: %s", p.ContextTokens, line)
		}
	}
	if want := 14; len(events) != want {
		t.Errorf("%d kinds of events, want %d: %v", len(events), want, events)
	}
}

func TestDecode(t *testing.T) {
	tests := []struct {
		name, in string
		want     hook.Payload
	}{
		{"nothing", `{}`, hook.Payload{}},
		{
			"wrong types", `{"turn_id":1,"token_usage":[],"agent_transcript_path":{},"status":null,"hook_event_name":"PostModelRequest"}`,
			hook.Payload{Event: hook.PostModelRequest},
		},
		{
			"a failed response", `{"hook_event_name":"PostModelRequest","status":"failed","token_usage":{"total_tokens":7}}`,
			hook.Payload{Event: hook.PostModelRequest},
		},
		{
			"invalid usage", `{"hook_event_name":"PostModelRequest","status":"completed","token_usage":{"total_tokens":"7"}}`,
			hook.Payload{Event: hook.PostModelRequest},
		},
		{"usage at another event", `{"hook_event_name":"Stop","status":"completed","token_usage":{"total_tokens":7}}`, hook.Payload{
			Event: hook.Stop,
		}},
		{"a subagent without a type", `{"session_id":"root","agent_id":"own"}`, hook.Payload{
			SessionID: "own",
			AgentType: "?",
		}},
		{"a type without a subagent", `{"session_id":"root","agent_type":"default"}`, hook.Payload{
			SessionID: "root",
		}},
		{
			"a question to a person", `{"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"make","description":"may I?"}}`,
			hook.Payload{
				Event:     hook.PermissionRequest,
				ToolName:  "Bash",
				ToolInput: json.RawMessage(`{"command":"make","description":"may I?"}`),
			},
		},
		{
			"members reserved to sm",
			`{"sm":{"agent":"em","pane":"%1"},"prompt_id":"p","context_tokens":5}`,
			hook.Payload{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.SM.Client = "codex"
			got, err := Decode([]byte(tt.in))
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
	if _, err := Decode([]byte(`[]`)); err == nil {
		t.Error("a list is accepted as a payload")
	}
}

func TestSpeaks(t *testing.T) {
	for in, want := range map[string]bool{
		`{"turn_id":"t"}`: true,
		`{"transcript_path":"/h/.codex/sessions/2026/11/22/rollout-2026-11-22T00-32-15-01a200aa-fb6f-7081-9a2e-46b953ce215b.jsonl"}`: true,
		`{"transcript_path":"/h/.claude/projects/p/01a200aa-fb6f-7081-9a2e-46b953ce215b.jsonl","prompt_id":"p"}`:                     false,
		`{"turn_id":7}`: false, `{}`: false, `{"turn_id":"t"`: false,
	} {
		if got := IsPayload([]byte(in)); got != want {
			t.Errorf("%s: got %v, want %v", in, got, want)
		}
	}
	for _, line := range lines(t, "../../../claude/hook/testdata/hooks.jsonl") {
		if IsPayload(line) {
			t.Errorf("recognized as Codex's: %s", line)
		}
	}
}

// schema has the parts of the client's own schemas that its answers need.
type schema struct {
	Properties  map[string]struct{ Const string } `json:"properties"`
	Definitions map[string]schema                 `json:"definitions"`
}

// conform reports the parts of an answer that the client would refuse.
func conform(t *testing.T, event hook.Event, answer []byte) {
	t.Helper()
	name := strings.ToLower(strings.Join(
		strings.FieldsFunc(string(spaced(event)), unicode.IsSpace),
		"-",
	))
	text, err := os.ReadFile(filepath.Join("testdata", "schemas", name+".json"))
	noErrors(t, err)
	var s schema
	noErrors(t, json.Unmarshal(text, &s))
	var members map[string]json.RawMessage
	if err := json.Unmarshal(answer, &members); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	for key, value := range members {
		if _, ok := s.Properties[key]; !ok {
			t.Errorf("%s: %q is unknown to the client", answer, key)
		}
		if key != "hookSpecificOutput" {
			continue
		}
		var inner map[string]json.RawMessage
		noErrors(t, json.Unmarshal(value, &inner))
		d := s.Definitions[string(event)+"HookSpecificOutputWire"]
		for key, value := range inner {
			p, ok := d.Properties[key]
			if !ok || p.Const != "" && string(value) != `"`+p.Const+`"` {
				t.Errorf("%s: %q is unknown to the client", answer, key)
			}
		}
	}
}

// spaced puts a space before each capital letter.
func spaced(event hook.Event) (words []rune) {
	for _, r := range string(event) {
		if unicode.IsUpper(r) {
			words = append(words, ' ')
		}
		words = append(words, r)
	}
	return words
}

func TestEncode(t *testing.T) {
	takes := func(event hook.Event) string {
		return `{"hookSpecificOutput":{"hookEventName":"` + string(event) + `","additionalContext":"say <so>"}}`
	}
	for event, want := range map[hook.Event]string{
		hook.SessionStart: takes(hook.SessionStart), hook.SubagentStart: takes(hook.SubagentStart),
		hook.UserPromptSubmit: takes(hook.UserPromptSubmit), hook.PostToolUse: takes(hook.PostToolUse),
		hook.Stop:       `{"decision":"block","reason":"say <so>"}`,
		hook.PreToolUse: "", hook.PreCompact: "", hook.PostCompact: "", hook.SubagentStop: "", hook.SessionEnd: "", hook.Interrupt: "",
		hook.PostModelRequest: "", hook.PermissionRequest: "", "": "",
	} {
		got := Encode(hook.Answer{Event: event, Context: "say <so>"})
		if string(got) != want {
			t.Errorf("%s: got %s, want %s", event, got, want)
		}
		if want != "" {
			conform(t, event, got)
			if empty := Encode(hook.Answer{Event: event}); empty != nil {
				t.Errorf("%s: got %s, want no answer", event, empty)
			}
		}
	}
	deny := Encode(hook.Answer{Event: hook.PreToolUse, Deny: "no"})
	if want := `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`; string(deny) != want {
		t.Errorf("got %s, want %s", deny, want)
	}
	conform(t, hook.PreToolUse, deny)
	if blank := Encode(hook.Answer{Event: hook.Stop, Context: " \n"}); blank != nil {
		t.Errorf("a decision without a reason: %s", blank)
	}
}

func TestClip(t *testing.T) {
	for _, s := range []string{
		strings.Repeat("é", MaxBytes/2),
		strings.Repeat("x", MaxBytes),
	} {
		if got := clip(s); got != s {
			t.Errorf("%d bytes became %d", len(s), len(got))
		}
		if got := clip(s + "é"); len(got) > MaxBytes || !strings.HasSuffix(got, " …") ||
			!utf8.ValidString(got) {
			t.Errorf("%d bytes became %d, …%q", len(s)+2, len(got), got[len(got)-8:])
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, line := range lines(f, "payloads.jsonl") {
		f.Add(line)
	}
	f.Add([]byte(`{"turn_id":"\ud800","token_usage":{"total_tokens":1e3},"status":"completed","hook_event_name":"PostModelRequest"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode(data)
		if _, want := hook.Decode(data); (err == nil) != (want == nil) {
			t.Fatalf("error %v, want that of the other codec, %v", err, want)
		}
		if err != nil {
			return
		}
		b := p.Encode()
		again, err := hook.Decode(b)
		if err != nil || again.SM.Client != "codex" || again.Subagent() ||
			again.ContextTokens < 0 {
			t.Fatalf("error %v: %q became %+v", err, b, again)
		}
		for _, a := range []hook.Answer{{
			Event:   p.Event,
			Context: p.Prompt,
		}, {
			Event: p.Event,
			Deny:  p.Prompt,
		}} {
			if b := Encode(a); len(b) > 0 && !json.Valid(b) {
				t.Fatalf("answer %q", b)
			}
			if sent, ok := hook.DecodeAnswer(a.Encode()); ok {
				if a, b := Encode(a), Encode(sent); p.Event != hook.Stop &&
					len(p.Prompt) < 1000 &&
					utf8.ValidString(p.Prompt) &&
					!bytes.Equal(a, b) {
					t.Fatalf("over the wire %q became %q", a, b)
				}
			}
		}
	})
}

func noErrors(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
