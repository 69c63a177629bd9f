package claude

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSubagentType: the kind stands in replies, at their top level alone, and a line that is cut says nothing.
func TestSubagentType(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/2.1.197/*/subagents/agent-a9f92d451ac66820a.jsonl")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	real, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, head, want string }{
		{"a client's", string(real), "general-purpose"},
		{"none", `{"type":"user"}` + "\n", ""},
		{"nothing", "", ""},
		{"within", `{"message":{"attributionAgent":"x"}}` + "\n", ""},
		{"no text", `{"attributionAgent":7}` + "\n" + `{"attributionAgent":"Explore"}` + "\n", "Explore"},
		{"cut", `{"type":"assistant","attributionAgent":"Expl`, ""},
	} {
		if got := SubagentType([]byte(c.head)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
