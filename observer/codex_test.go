package observer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sm/observer/api"
	"sm/transcript"
	"sm/transcript/codex"
)

const codexThread = "01a200a2-c691-7de0-a325-4ece90591c2c"

// TestCodexBesideClaude: threads of Codex are sessions beside those of Claude Code: by their
// records, and at work while their lock is held.
func TestCodexBesideClaude(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	home := filepath.Join(r.dir, "codex")
	var held atomic.Bool
	isHeld := func(string) (transcript.Holder, bool) { return transcript.Holder{}, held.Load() }
	r.o.Clients[0] = codex.New(isHeld, filepath.Join(home, "sessions"))
	r.write(uuid(1), prompt("2026-05-01T12:00:00Z", "p1", "go on"), reply("2026-05-01T12:00:01Z", "m1", 50_000, 300))
	r.start()
	path := filepath.Join(home, "sessions/2026/05/01/rollout-2026-05-01T12-00-00-"+codexThread+".jsonl")
	record := func(second, kind, payload string) string {
		return `{"timestamp":"2026-05-01T12:00:` + second + `.000Z","type":"` + kind + `","payload":` + payload + `}`
	}
	count := func(second, last string) string {
		return record(
			second,
			"event_msg",
			`{"type":"token_count","info":{"last_token_usage":{`+last+`},"total_token_usage":{"total_tokens":`+second+`000},"model_context_window":258400}}`,
		)
	}
	appendLines(t, path, record(
		"10",
		"session_meta",
		`{"id":"`+codexThread+`","cwd":"/home/dev/api","cli_version":"0.169.0"}`,
	),
		record(
			"11",
			"turn_context",
			`{"model":"gpt-6-sol"}`,
		), record(
			"12",
			"event_msg",
			`{"type":"task_started","turn_id":"t","turn_attribution":{}}`,
		),
		count("13", `"input_tokens":86960,"output_tokens":40,"total_tokens":87000`))
	find := func() (s api.Session) {
		for _, s := range r.sessions() {
			if s.SessionID == codexThread {
				return s
			}
		}
		return s
	}
	r.until("the thread is known", func() bool { s := find(); return s.TokensUsed != nil && *s.TokensUsed == 87_000 })
	if s := find(); s.Client != "codex" || s.Provider != "codex" || *s.UsedPercentage != 30 ||
		s.WindowTokens != 258_400 ||
		s.WindowSource != "transcript" ||
		s.Model != "gpt-6-sol" ||
		s.Project != "api" {
		t.Errorf("%+v", s)
	}
	for _, s := range r.sessions() {
		if s.SessionID == uuid(1) && s.Client != "claude" {
			t.Errorf("the other is of %q", s.Client)
		}
	}
	if text := r.get("/metrics").Body; !strings.Contains(text, `agent_session_info{client="codex"`) ||
		!strings.Contains(text, `agent_session_info{client="claude"`) {
		t.Error("the metrics lack a client")
	}
	held.Store(true)
	appendLines(t, filepath.Join(home, "session_index.jsonl"), `{"id":"`+codexThread+`","thread_name":"An old name"}`)
	if err := os.MkdirAll(filepath.Join(home, "thread-writer-locks"), 0o700); err != nil {
		t.Fatal(err)
	}
	appendLines(t, filepath.Join(home, "thread-writer-locks", codexThread+".lock"), "")
	r.until("the thread has its name", func() bool { return find().Title == "An old name" })
	appendLines(t, filepath.Join(home, "session_index.jsonl"), `{"id":"`+codexThread+`","thread_name":"A new name"}`)
	r.until("the thread is renamed", func() bool { return find().Title == "A new name" })
	held.Store(false)
	appendLines(t, path, record("14", "compacted", `{"window_id":"w1"}`), count("15", `"total_tokens":20564`))
	r.until(
		"only an estimate is known",
		func() bool { s := find(); return s.TokensUsed == nil && s.UsedPercentage != nil },
	)
	if s := find(); *s.UsedPercentage != 3 || s.Compactions.Auto != 1 || s.Cycle != 2 {
		t.Errorf("after the compaction: %+v", s)
	}
	// The limits of its account are apart from the other's.
	if text := r.get("/metrics").Body; strings.Contains(text, "agent_rate_limit_used_ratio{") {
		t.Error("a rate limit that nobody has told")
	}
	ends := time.Now().Add(time.Hour).Unix()
	appendLines(
		t,
		path,
		record(
			"16",
			"event_msg",
			fmt.Sprintf(
				`{"type":"token_count","info":null,"rate_limits":{"primary":{"used_percent":12.5,"window_minutes":300,"resets_at":%d},"secondary":{"used_percent":40,"window_minutes":10080,"resets_at":1000}}}`,
				ends,
			),
		),
	)
	const ratio = `agent_rate_limit_used_ratio{client="codex",window="five_hour"}`
	r.until("the limit is known", func() bool { return r.scrape()[ratio] == 0.125 })
	var all api.Sessions
	noErrors(t, json.Unmarshal([]byte(r.get("/sessions").Body), &all))
	if l := all.RateLimits; l.FiveHour != nil || l.Codex == nil || l.Codex.FiveHour.UsedRatio != 0.125 ||
		l.Codex.FiveHour.ResetsAt.Unix() != ends ||
		l.Codex.SevenDay != nil {
		t.Errorf("rate limits %+v", l)
	}
	// A lock that is held keeps it at work, however old its records are.
	lock := filepath.Join(home, "thread-writer-locks", codexThread+".lock")
	noErrors(t, os.MkdirAll(filepath.Dir(lock), 0o700))
	noErrors(t, os.WriteFile(lock, nil, 0o600))
	old := time.Now().Add(-time.Hour)
	noErrors(t, os.Chtimes(path, old, old))
	r.until("it is quiet", func() bool { return !find().IsActive })
	held.Store(true)
	r.until("it is open", func() bool { return find().IsActive })
}
