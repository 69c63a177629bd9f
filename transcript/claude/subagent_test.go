package claude

import "testing"

func TestSubagentType(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, meta, want string }{
		{
			"named",
			`{"agentType":"general-purpose","description":"Count files","toolUseId":"toolu_1"}`,
			"general-purpose",
		},
		{"not named", `{"description":"Count files"}`, ""},
		{"no text", `{"agentType":7}`, ""},
		{"partly written", `{"agentType":"Expl`, ""},
		{"empty", "", ""},
	} {
		if got := SubagentType([]byte(c.meta)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSubagentMeta(t *testing.T) {
	t.Parallel()
	const want = "/p/s/subagents/agent-a1.meta.json"
	if got := SubagentMeta("/p/s/subagents/agent-a1.jsonl"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
