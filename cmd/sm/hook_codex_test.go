package main

import (
	"strings"
	"testing"
)

// TestCodexHook tests that a hook of Codex, recognized by its argument or payload, is about
// the thread that calls it and prints Codex's form of answer.
func TestCodexHook(t *testing.T) {
	t.Parallel()
	const (
		root  = `{"session_id":"root","turn_id":"t1","hook_event_name":"`
		child = `{"session_id":"root","turn_id":"t1","agent_id":"own","agent_type":"default","hook_event_name":"`
		says  = `{"hookSpecificOutput":{"hookEventName":"EVENT","additionalContext":"[sm context] 52% #a1b2c3"}}`
	)
	said := func(event string) string { return strings.Replace(says, "EVENT", event, 1) }
	for _, tt := range []struct {
		name, stdin, answer, want, session string
		args                               []string
	}{
		{
			"the end of a turn",
			root + `Stop"}`,
			said("Stop"),
			`{"decision":"block","reason":"[sm context] 52% #a1b2c3"}` + "\n",
			"root",
			nil,
		},
		{
			"a tool's end",
			root + `PostToolUse"}`,
			said("PostToolUse"),
			said("PostToolUse") + "\n",
			"root",
			nil,
		},
		{
			"a subagent",
			child + `PostToolUse"}`,
			said("PostToolUse"),
			said("PostToolUse") + "\n",
			"own",
			nil,
		},
		{
			"by its argument alone", `{"session_id":"root","hook_event_name":"Stop"}`, said("Stop"), `{"decision":"block","reason":"[sm context] 52% #a1b2c3"}` + "\n",
			"root",
			[]string{"--client", "codex"},
		},
		{
			"Claude Code's by its argument",
			root + `Stop"}`,
			said("Stop"),
			said("Stop") + "\n",
			"root",
			[]string{"--client=claude"},
		},
		{"nothing to say", root + `Stop"}`, "", "", "root", nil},
		{"no answer of ours", root + `Stop"}`, `{"a":1}`, "", "root", nil},
		{"a compaction", root + `PreCompact"}`, said("PreCompact"), "", "root", nil},
		{
			"a response",
			root + `PostModelRequest"}`,
			said("PostModelRequest"),
			"",
			"root",
			nil,
		},
		{
			"a question to a person",
			root + `PermissionRequest","tool_name":"Bash"}`,
			said("PermissionRequest"),
			"",
			"root",
			nil,
		},
		{
			"a decision on it", root + `PermissionRequest","tool_name":"Bash"}`,
			`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","permissionDecision":"deny","permissionDecisionReason":"no"}}`, "", "root", nil,
		},
		{"a subagent's end", child + `SubagentStop"}`, said("SubagentStop"), "", "own", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newListener(t, respond(tt.answer))
			vars := map[string]string{
				"SM_SOCKET":                 e.socket,
				"CLAUDE_SESSION_MANAGER_ID": "web",
				"CLAUDE_PID":                "2000000000",
			}
			if got := callHook(
				t,
				vars,
				strings.NewReader(tt.stdin),
				tt.args...,
			); got != tt.want {
				t.Errorf("printed %q, want %q", got, tt.want)
			}
			p := e.only(t)
			if client := p.SM.Client; p.SessionID != tt.session ||
				(client == "codex") == strings.HasPrefix(tt.name, "Claude") {
				t.Errorf("session %q of client %q", p.SessionID, client)
			}
			if own := p.SM.Agent == "web"; own == (tt.session == "own") ||
				p.SM.Client == "codex" && p.SM.PID == 2000000000 {
				t.Errorf("origin %+v", p.SM)
			}
		})
	}
}
