package observer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sm/transcript/claude/hook"
	codexhook "sm/transcript/codex/hook"
)

const codexSubagent = "01a200a8-bb45-7512-97ac-75709d41a542"

// A codexDesk is an observer with a thread of Codex.
type codexDesk struct {
	*rig
	agent string // named by the thread's hooks, "" for only the thread
	n     int
}

func newCodexDesk(t *testing.T, agent string) *codexDesk {
	r := newWatched(t)
	r.o.Clients[0].Dirs = []string{filepath.Join(r.dir, "codex", "sessions")}
	r.o.Queue.PerSenderMinute = 0
	d := &codexDesk{rig: r.start(), agent: agent}
	d.record(
		codexThread,
		"session_meta",
		`{"id":"`+codexThread+`","cwd":"/home/dev/api","cli_version":"0.169.0"}`,
	)
	d.record(codexThread, "turn_context", `{"model":"gpt-6-sol"}`)
	d.record(
		codexThread,
		"event_msg",
		`{"type":"task_started","turn_id":"t1","turn_attribution":{},"model_context_window":258400}`,
	)
	return d
}

func (d *codexDesk) path(thread string) string {
	return filepath.Join(
		d.dir,
		"codex/sessions/2026/05/01/rollout-2026-05-01T12-00-00-"+thread+".jsonl",
	)
}

// record writes one record.
func (d *codexDesk) record(thread, kind, payload string) {
	d.t.Helper()
	d.n++
	at := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	appendLines(
		d.t,
		d.path(thread),
		fmt.Sprintf(
			`{"timestamp":%q,"ordinal":%d,"type":%q,"payload":%s}`,
			at,
			d.n,
			kind,
			payload,
		),
	)
}

// injects writes the record of a thread for the context of a hook.
func (d *codexDesk) injects(thread, role, text string) {
	d.t.Helper()
	if role == "user" {
		text = `<hook_prompt hook_run_id="stop:12:/home/dev/.codex/hooks.json">` + text + `</hook_prompt>`
	}
	content, err := json.Marshal([]map[string]string{{"type": "input_text", "text": text}})
	noErrors(d.t, err)
	d.record(
		thread,
		"response_item",
		fmt.Sprintf(`{"type":"message","role":%q,"content":%s}`, role, content),
	)
	if role == "user" {
		d.record(
			thread,
			"event_msg",
			`{"type":"item_completed","item":{"type":"HookPrompt","fragments":[{"text":`+string(content[len(`[{"text":`):strings.Index(
				string(content),
				`,"type"`,
			)])+`}]}}`,
		)
	}
}

// fires sends a hook as `sm hook` does and returns the answer.
func (d *codexDesk) fires(event, fields string) string {
	d.t.Helper()
	p, err := codexhook.Decode(fmt.Appendf(nil, `{"session_id":%q,"turn_id":"t1","transcript_path":%q,"cwd":"/home/dev/api","model":"gpt-6-sol","hook_event_name":%q%s}`,
		codexThread, d.path(codexThread), event, fields))
	noErrors(d.t, err)
	if !codexhook.IsSubagent(&p) {
		p.SM.Agent = d.agent
	}
	a := d.ask(http.MethodPost, "/hooks/claude", string(p.Encode()))
	if a.Code/100 != 2 {
		d.t.Fatalf("%s: %d %s", event, a.Code, a.Body)
	}
	answer, _ := hook.DecodeAnswer([]byte(a.Body))
	return string(codexhook.Encode(answer))
}

// contextIn returns the context in an answer to PostToolUse.
func contextIn(t *testing.T, answer string) string {
	t.Helper()
	a, ok := hook.DecodeAnswer([]byte(answer))
	if !ok || a.Event != hook.PostToolUse {
		t.Fatalf("PostToolUse is answered %q", answer)
	}
	return a.Context
}

// reasonIn returns the text with which an answer to Stop makes the agent continue.
func reasonIn(t *testing.T, answer string) string {
	t.Helper()
	var x struct{ Decision, Reason string }
	if err := json.Unmarshal([]byte(answer), &x); err != nil || x.Decision != "block" {
		t.Fatalf("Stop is answered %q: %v", answer, err)
	}
	return x.Reason
}

// label returns the agent's label in metrics.
func (d *codexDesk) label() string {
	if d.agent != "" {
		return d.agent
	}
	return codexThread[:8]
}

const response = `,"status":"completed","token_usage":{"input_tokens":%d,"output_tokens":0,"total_tokens":%d}`

// TestCodexHooks tests that hooks report a thread's context before its transcript does, that
// their answers carry messages, and that the transcript contains each once.
func TestCodexHooks(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"", "em"} {
		t.Run("agent "+agent, func(t *testing.T) {
			d := newCodexDesk(t, agent)
			id := agent
			if id == "" {
				id = codexThread
			}
			d.until("the thread is known", func() bool { return len(d.sessions()) == 1 })
			if answer := d.fires(
				"SessionStart",
				`,"source":"startup"`,
			) + d.fires(
				"UserPromptSubmit",
				`,"prompt":"go"`,
			); answer != "" {
				t.Errorf("got answer %q", answer)
			}
			d.fires("PostModelRequest", fmt.Sprintf(response, 140_000, 140_000))
			d.checkMail("by the hook alone", id+"/1/warning waiting")
			if s := d.session(id); s.TokensUsed == nil || *s.TokensUsed != 140_000 ||
				s.Client != "codex" ||
				!s.HooksSeen ||
				s.StatuslineAt != nil {
				t.Errorf("got %+v", s)
			}
			line := reasonIn(t, d.fires("Stop", `,"stop_hook_active":false`))
			if !strings.HasPrefix(line, "[sm context] Context at ") {
				t.Errorf("got message %q", line)
			}
			d.injects(codexThread, "user", line)
			d.untilMail("the transcript shows it", id+"/1/warning confirmed")
			if answer := d.fires("Stop", `,"stop_hook_active":true`); answer != "" {
				t.Errorf("got %q again", answer)
			}

			d.record(
				codexThread,
				"token_usage_record",
				`{"thread_id":"`+codexThread+`","turn_id":"t1","response_id":"r1","usage":{"input_tokens":139000,"output_tokens":1000,"total_tokens":140000}}`,
			)
			d.until("both have the same figures", func() bool {
				drift, known := d.scrape()[`agent_session_drift_tokens{session="`+d.label()+`"}`]
				return known && drift == 0
			})
			d.checkMail("the same figure again", id+"/1/warning confirmed")

			d.fires("PostModelRequest", fmt.Sprintf(response, 180_000, 180_000))
			line = contextIn(t, d.fires("PostToolUse", `,"tool_name":"Bash"`))
			d.injects(codexThread, "developer", line)
			d.untilMail(
				"the developer record",
				id+"/1/warning confirmed",
				id+"/1/critical confirmed",
			)

			d.fires("PreCompact", `,"trigger":"auto"`)
			if s := d.session(id); !s.IsCompacting {
				t.Error("it is not compacting")
			}
			d.fires("PostCompact", `,"trigger":"auto"`)
			d.record(codexThread, "compacted", `{"window_id":"w1"}`)
			d.until(
				"one compaction",
				func() bool {
					s := d.session(id)
					return s.Compactions.Auto == 1 && s.Cycle == 2 &&
						!s.IsCompacting
				},
			)
			d.fires("SessionStart", `,"source":"compact"`)
			d.fires("PostModelRequest", fmt.Sprintf(response, 20_000, 20_000))
			if s := d.session(id); s.Cycle != 2 || s.TokensUsed == nil ||
				*s.TokensUsed != 20_000 {
				t.Errorf("after the compaction: %+v", s)
			}
			d.fires("Interrupt", "")
			d.fires("SessionEnd", `,"reason":"other"`)
			d.until("it has ended", func() bool { return d.session(id).State == "ended" })
			d.stop()
		})
	}
}

// TestCodexSubagentHooks tests that a subagent's thread is a separate session with its own
// messages, shown in its own transcript, and that its end is not delayed.
func TestCodexSubagentHooks(t *testing.T) {
	t.Parallel()
	d := newCodexDesk(t, "em")
	d.fires("SessionStart", `,"source":"startup"`)
	d.record(
		codexSubagent,
		"session_meta",
		`{"id":"`+codexSubagent+`","session_id":"`+codexThread+`","parent_thread_id":"`+codexThread+`","cwd":"/home/dev/api"}`,
	)
	d.record(
		codexSubagent,
		"event_msg",
		`{"type":"task_started","turn_id":"t2","turn_attribution":{},"model_context_window":258400}`,
	)
	d.until("both are known", func() bool { return len(d.sessions()) == 2 })
	const own = `,"agent_id":"` + codexSubagent + `","agent_type":"default"`
	d.fires("SubagentStart", own)
	d.fires("PostModelRequest", own+fmt.Sprintf(response, 47_000, 47_000))
	if s := d.session(codexSubagent); s.TokensUsed == nil || *s.TokensUsed != 47_000 {
		t.Errorf("the subagent: %+v", s)
	}
	if s := d.session("em"); s.SessionID != codexThread || s.TokensUsed != nil {
		t.Errorf("the agent: %+v", s)
	}
	d.sends(codexSubagent, "sequential", "for the subagent")
	d.sends("em", "sequential", "for the agent")
	if answer := d.fires("SubagentStop", own); answer != "" {
		t.Errorf("the subagent's end is delayed: %s", answer)
	}
	line := contextIn(t, d.fires("PostToolUse", own))
	if !strings.Contains(line, "for the subagent") {
		t.Errorf("got message %q", line)
	}
	d.injects(codexSubagent, "developer", line)
	d.untilMail("received by one", "for the subagent confirmed", "for the agent waiting")
	d.stop()
}

const codexThread = "01a200a2-c691-7de0-a325-4ece90591c2c"
