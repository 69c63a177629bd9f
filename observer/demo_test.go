package observer

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
	"sm/transcript/claude/hook"
)

// TestDemoTakesNoAgents: a demo is marked as one, and no post of a real agent, by its own name or that of a simulated one,
// changes its state.
func TestDemoTakesNoAgents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.Demo = true
	r.start()
	seat := hook.Payload{
		Event:     hook.SessionStart,
		Source:    "startup",
		SessionID: uuid(1),
		SM:        hook.Origin{Agent: "demo-web", Name: "demo-web"},
	}
	if _, err := r.app.Hook(t.Context(), &seat); err != nil {
		t.Fatal(err)
	}
	before := r.all()
	if len(before.Sessions) != 1 || before.Sessions[0].ID != "demo-web" || !before.Demo {
		t.Fatalf("%+v", before)
	}
	for _, c := range []struct{ method, path, body, want string }{
		{
			"POST",
			"/hooks/claude",
			`{"hook_event_name":"SessionStart","source":"startup","session_id":"` + uuid(2) + `"}`,
			"204 ",
		},
		{
			"POST",
			"/hooks/claude",
			`{"hook_event_name":"SessionStart","source":"clear","session_id":"` + uuid(2) + `","sm":{"agent":"demo-web"}}`,
			"204 ",
		},
		{
			"POST",
			"/hooks/claude",
			`{"hook_event_name":"PreCompact","trigger":"auto","session_id":"` + uuid(1) + `"}`,
			"204 ",
		},
		{"POST", "/hooks/claude", `{"hook_event_name":"StatusLine","session_id":"` + uuid(2) + `"}`, "204 "},
		{
			"POST",
			"/hooks/context-usage",
			`{"session_id":"demo-web","event":"compaction"}`,
			`200 {"status":"unknown_session"}`,
		},
		{"POST", "/sessions", `{"id":"em"}`, "403 simulates"},
		{
			"POST",
			"/sessions/demo-web/handoff",
			`{"requester_session_id":"demo-web","file_path":"/etc/hostname"}`,
			"403 simulates",
		},
		{"GET", "/runs/demo-web/next?client=1&restarts_left=1", "", "403 simulates"},
	} {
		a := r.ask(c.method, c.path, c.body)
		code, text, _ := strings.Cut(c.want, " ")
		if strconv.Itoa(a.Code) != code || !strings.Contains(a.Body, text) {
			t.Errorf("%s %s %s: %d %q, want %s", c.method, c.path, c.body, a.Code, a.Body, c.want)
		}
	}
	if diff := cmp.Diff(before, r.all()); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}

	// What is sent to a made-up agent reaches it by its own hook.
	if a := r.ask(
		"POST",
		"/sessions/demo-web/messages",
		`{"text":"Look up.","delivery_mode":"urgent"}`,
	); a.Code != http.StatusAccepted {
		t.Errorf("a message: %d %s", a.Code, a.Body)
	}
	answer, err := r.app.Hook(t.Context(), &hook.Payload{
		Event:     hook.PostToolUse,
		SessionID: uuid(1),
		SM:        hook.Origin{Agent: "demo-web", At: time.Now()},
	})
	if err != nil || !strings.Contains(answer.Context, "Look up.") {
		t.Errorf("%+v, %v", answer, err)
	}
}

func (r *rig) all() (all api.Sessions) {
	r.t.Helper()
	noErrors(r.t, json.Unmarshal([]byte(r.get("/sessions").Body), &all))
	return all
}
