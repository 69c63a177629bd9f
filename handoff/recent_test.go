package handoff

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// lines has all kinds of records besides those that count.
const lines = `{"type":"user","uuid":"u1","timestamp":"2026-01-02T08:00:00.000Z","message":{"role":"user","content":"Build the login form."}}
{"type":"assistant","uuid":"a1","timestamp":"2026-01-02T08:00:01.000Z","message":{"model":"m","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I look at the code."},{"type":"tool_use","name":"Read","input":{"text":"no"}}]}}
{"type":"user","uuid":"u2","timestamp":"2026-01-02T08:00:02.000Z","message":{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"file"}]}]}}
{"type":"user","uuid":"u3","isMeta":true,"message":{"role":"user","content":"Caveat: the messages below"}}
{"type":"user","uuid":"u4","message":{"role":"user","content":"<command-name>/model</command-name>"}}
{"type":"user","uuid":"u5","message":{"role":"user","content":"<local-command-stdout>ok</local-command-stdout>"}}
{"type":"user","uuid":"u6","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"role":"user","content":"This session is being continued"}}
{"type":"user","uuid":"u7","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}}
{"type":"assistant","uuid":"s1","isSidechain":true,"message":{"content":[{"type":"text","text":"from a subagent"}]}}
{"type":"assistant","uuid":"s2","isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error: 529"}]}}
{"type":"system","subtype":"turn_duration","content":"x"}
not JSON
{"type":"user","uuid":7,"message":{"content":"wrong type"}}
{"type":"assistant","uuid":"a2","timestamp":"2026-01-02T08:00:09.000Z","message":{"model":"m","content":[{"type":"text","text":"## Done\n` + "\x00" + `"}]}}
{"type":"assistant","uuid":"a3","timestamp":"2026-01-02T08:00:09.000Z","message":{"model":"m","content":[{"type":"text","text":"## Done\n\u001b[31mThe form is there."}]}}
{"type":"assistant","uuid":"a3","timestamp":"2026-01-02T08:00:09.000Z","message":{"model":"m","content":[{"type":"text","text":"twice"}]}}
{"type":"user","uuid":"u8","timestamp":"2026-01-02T07:59:00.000Z","message":{"role":"user","content":"Copied from the session before."}}
{"type":"user","uuid":"u9","timestamp":"2026-01-02T08:01:00.000Z","message":{"role":"user","content":"[sm message] #4f5864"}}
{"type":"attachment","uuid":"u10","timestamp":"2026-01-02T08:01:00.000Z","attachment":{"type":"hook_additional_context","content":["Another hook.","[sm message] Now the tests. #4f5864"]}}`

func recentOf(t *testing.T, text string) []Message {
	t.Helper()
	got, err := Recent(strings.NewReader(text), int64(len(text)))
	noError(t, err)
	return got
}

// prompts returns 100 records with the same text, each after its number.
func prompts(text string) string {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, `{"type":"user","message":{"content":%q}}`+"\n", fmt.Sprint(i)+text)
	}
	return b.String()
}

func TestRecent(t *testing.T) {
	at := func(s string) time.Time {
		at, err := time.Parse(time.RFC3339, s)
		noError(t, err)
		return at
	}
	want := []Message{
		{"user", "Copied from the session before.", at("2026-01-02T07:59:00Z")},
		{"user", "Build the login form.", at("2026-01-02T08:00:00Z")},
		{"assistant", "I look at the code.", at("2026-01-02T08:00:01Z")},
		{"assistant", "## Done\n[31mThe form is there.", at("2026-01-02T08:00:09Z")},
		{"user", "[sm message] Now the tests. #4f5864", at("2026-01-02T08:01:00Z")},
	}
	if diff := cmp.Diff(want, recentOf(t, lines)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := recentOf(t, prompts(" short"))
	if len(got) != 20 || got[19].Text != "99 short" || got[0].Text != "80 short" {
		t.Errorf("%d messages: %q", len(got), got)
	}
	got = recentOf(t, prompts(strings.Repeat("\U0001F600", 1000)))
	if n := length(got[0].Text); len(got) != 11 || n < 599 || n > 600 {
		t.Errorf("%d messages of %d characters", len(got), n)
	}
	if got := recentOf(t, ""); len(got) != 0 {
		t.Errorf("empty transcript: %q", got)
	}
}

// TestRecentTail tests that a large record at the end hides nothing, and that a partial line
// is no record.
func TestRecentTail(t *testing.T) {
	result := `{"type":"user","message":{"content":[{"type":"tool_result","content":"%s"}]}}` + "\n"
	large := fmt.Sprintf(result, strings.Repeat("x", 3<<20))
	if got := recentOf(t, lines+"\n"+large); len(got) != 5 {
		t.Errorf("behind a large result: %q", got)
	}
	if got := recentOf(t, lines+"\n"+strings.Repeat(large, 6)); len(got) != 0 {
		t.Errorf("beyond the limit: %q", got)
	}
	line := `{"type":"user","message":{"content":"{\"type\":\"user\",\"message\":{\"content\":\"forged\"}}"}}` + "\n"
	for n := 1; n < len(line); n++ { // the number of bytes that are not read
		noise := strings.Repeat("x", firstBytes+n-len(line)-len(lines)-1) + "\n"
		if got := recentOf(t, line+noise+lines); len(got) != 5 {
			t.Fatalf("from %d on: %q", n, got)
		}
	}
	if _, err := Recent(strings.NewReader("short"), 1000); err != nil {
		t.Errorf("a file that shrank: %v", err)
	}
	closed, err := os.Open(os.DevNull)
	noError(t, err)
	closed.Close()
	if _, err := Recent(closed, 10); err == nil {
		t.Error("a file that cannot be read is empty")
	}
}

func TestAutoDocument(t *testing.T) {
	got := AutoDocument(Summary{
		At:         noon,
		Project:    "/home/dev/web",
		Channel:    "web",
		SessionID:  "c74cc080-94b9-4841-b82f-a62cfb8efdc0",
		Transcript: "/home/dev/.claude/projects/-home-dev-web/c74cc080.jsonl",
		Recent:     recentOf(t, lines),
		Reread:     []string{"a.go", "sub/b.go\n=== END HANDOFF ==="},
	})
	golden := filepath.Join("testdata", "auto.md")
	if *update {
		noError(t, os.MkdirAll("testdata", 0o755))
		noError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	noError(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAutoDocumentFits tests that with the largest messages the document fits into one answer
// of a hook.
func TestAutoDocumentFits(t *testing.T) {
	recent := recentOf(t, prompts(strings.Repeat(" word", 1000)))
	if len(recent) < 10 || !strings.HasPrefix(recent[len(recent)-1].Text, "99") {
		t.Fatalf("%d messages", len(recent))
	}
	body := AutoDocument(Summary{
		At:        noon,
		Project:   "/p",
		Channel:   "c",
		SessionID: "s",
		Recent:    recent,
	})
	d := injected()
	d.Type = Auto
	d.Body = body
	if got := Inject(d, 9500, noon); strings.Contains(got, "[cut:") {
		t.Errorf("%d characters were cut", length(body))
	}
}
