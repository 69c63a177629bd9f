package hook

import (
	"strings"
	"testing"
)

// TestAsks tests what a client waits for, in the words of its versions.
func TestAsks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ event, kind, message, want string }{
		{
			"Notification",
			"permission_prompt",
			"Claude needs your permission to use Bash",
			"permission: Bash",
		},
		{"Notification", "permission_prompt", "Claude needs your permission", "permission"},
		{
			"Notification",
			"worker_permission_prompt",
			"web needs your permission to use Web Search",
			"permission: Web Search",
		},
		{
			"Notification",
			"permission_prompt",
			"Claude needs your permission to use AskUserQuestion",
			"question",
		},
		{
			"Notification",
			"permission_prompt",
			"Claude Code needs your approval for the plan",
			"plan",
		},
		{
			"Notification",
			"permission_prompt",
			"Claude needs your permission to use a\\nb",
			"permission",
		},
		{
			"Notification",
			"permission_prompt",
			"Claude needs your permission to use " + strings.Repeat("x", 65),
			"permission",
		},
		{"Notification", "elicitation_dialog", "Claude Code needs your input", "question"},
		{
			"Notification",
			"",
			"Claude needs your permission to use Write",
			"permission: Write",
		}, // 2.0.30
		{"Notification", "", "Claude is waiting for your input", ""},
		{"Notification", "idle_prompt", "Claude is waiting for your input", ""},
		{"Notification", "auth_success", "Claude needs your permission to use Bash", ""},
		{"Stop", "permission_prompt", "Claude needs your permission to use Bash", ""},
	} {
		p, err := Decode([]byte(`{"hook_event_name":"` + tt.event + `","notification_type":"` + tt.kind + `","message":"` + tt.message + `"}`))
		noErrors(t, err)
		if again, err := Decode(p.Encode()); err != nil || again.Asks() != tt.want {
			t.Errorf(
				"%q, %q: after Encode %q, want %q (%v)",
				tt.kind,
				tt.message,
				again.Asks(),
				tt.want,
				err,
			)
		}
		if got := p.Asks(); got != tt.want {
			t.Errorf("%q, %q: got %q, want %q", tt.kind, tt.message, got, tt.want)
		}
	}
	for _, tt := range []struct{ client, tool, want string }{
		{
			"codex",
			"Bash",
			"permission: Bash",
		}, {
			"codex",
			"",
			"permission",
		}, {
			"codex",
			"a\nb",
			"permission",
		}, {
			"",
			"Bash",
			"",
		},
	} {
		p := Payload{
			Event:    PermissionRequest,
			ToolName: tt.tool,
			SM:       Origin{Client: tt.client},
		}
		if got := p.Asks(); got != tt.want {
			t.Errorf("%q of %q: got %q, want %q", tt.tool, tt.client, got, tt.want)
		}
	}
}
