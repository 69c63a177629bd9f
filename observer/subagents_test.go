package observer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
)

// TestSubagentsShow: in the JSON of their session and in its detail, each with its own context, and nothing of it in the
// session's.
func TestSubagentsShow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(uuid(1), prompt(ago(9*time.Minute), "p1", "Go."), reply(ago(time.Minute), "m1", 50_000, 10))
	r.write(uuid(2), reply(ago(time.Minute), "m9", 40_000, 10))
	at := time.Now().Add(-20 * time.Second)
	path := filepath.Join(strings.TrimSuffix(r.transcript(uuid(1)), ".jsonl"), "subagents", "agent-a1.jsonl")
	appendLines(t, path, prompt(ago(30*time.Second), "q1", "Look."))
	r.start()
	if a := r.get("/sessions/" + uuid(2)); strings.Contains(a.Body, `"latest"`) {
		t.Errorf("one without any: %s", a.Body)
	}
	want := []api.Subagent{{ID: "a1"}}
	if diff := cmp.Diff(want, r.session(uuid(1)).Subagents.Latest); diff != "" {
		t.Errorf("before its first reply (-want +got):\n%s", diff)
	}
	meta := strings.TrimSuffix(path, ".jsonl") + ".meta.json"
	noErrors(t, os.WriteFile(meta, []byte(`{"agentType":"Explore","description":"Look","toolUseId":"toolu_1"}`), 0o600))
	appendLines(t, path, strings.Replace(reply(at.UTC().Format(time.RFC3339Nano), "s1", 84_000, 7), `{`, `{"isSidechain":true,`, 1))
	r.until("its reply is read", func() bool { return r.session(uuid(1)).Subagents.Messages == 1 })
	tokens, read := int64(84_000), at.UTC().Truncate(time.Nanosecond)
	want = []api.Subagent{{ID: "a1", Type: "Explore", ContextTokens: &tokens, PeakTokens: tokens, LastReading: &read}}
	s := r.session(uuid(1))
	if diff := cmp.Diff(want, s.Subagents.Latest, cmp.Comparer(func(a, b time.Time) bool { return a.Sub(b).Abs() < time.Millisecond })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if *s.TokensUsed != 50_000 || s.PeakTokens != 50_000 || s.Messages != 1 {
		t.Errorf("the session: %+v", s)
	}
	var all struct{ Sessions []map[string]json.RawMessage }
	noErrors(t, json.Unmarshal([]byte(r.get("/sessions").Body), &all))
	for _, x := range all.Sessions {
		if strings.Contains(string(x["subagents"]), "latest") {
			t.Errorf("the list holds them: %s", x["subagents"])
		}
	}
	page := r.get("/?session=" + uuid(1)).Body
	for _, text := range []string{"<bdi>a1</bdi> <small>Explore</small>", "84k of 200k", "peak 84k", "1 subagent, 84k"} {
		if !strings.Contains(page, text) {
			t.Errorf("the page lacks %q", text)
		}
	}
	r.stop()
}
