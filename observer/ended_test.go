package observer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sm/observer/api"
)

// TestEndedClients: clients that are killed in the middle of a turn, or say that they end,
// are no more at work, by whatever the observer knew of them. Until then they are.
func TestEndedClients(t *testing.T) {
	r := newWatched(t)
	r.o.Alive = func(pid int, _ string) bool { return syscall.Kill(pid, 0) == nil }
	r.start()
	type seat struct {
		name            string
		hooks, registry bool
		kill            bool
		session         string
		client          *exec.Cmd
	}
	seats := []*seat{
		{name: "interactive", hooks: true, registry: true, kill: true},
		{name: "headless", hooks: true, kill: true},
		{name: "without hooks", registry: true, kill: true},
		{name: "ends by itself", hooks: true},
		{name: "lives", hooks: true, registry: true},
	}
	stateOf := func(s *seat) (got api.Session) {
		var all api.Sessions
		noErrors(t, json.Unmarshal([]byte(r.ask(http.MethodGet, "/sessions", "").Body), &all))
		for _, x := range all.Sessions {
			if x.SessionID == s.session {
				return x
			}
		}
		return got
	}
	hook := func(s *seat, event, fields string) {
		r.ask(http.MethodPost, "/hooks/claude", fmt.Sprintf(`{"session_id":%q,"hook_event_name":%q,"sm":{"agent":%q,"pid":%d,"start":"1"}%s}`,
			s.session, event, strings.ReplaceAll(s.name, " ", "-"), s.client.Process.Pid, fields))
	}
	for i, s := range seats {
		s.session, s.client = uuid(i+1), exec.CommandContext(t.Context(), "sleep", "600")
		noErrors(t, s.client.Start())
		t.Cleanup(func() { _ = s.client.Process.Kill(); _ = s.client.Wait() })
		if s.hooks {
			hook(s, "SessionStart", `,"source":"startup"`)
		}
		r.write(s.session, prompt(ago(time.Second), fmt.Sprint("p", i), "go"))
		atWork := "busy"
		if s.registry {
			atWork = "waiting" // what the registry alone can know
			path := filepath.Join(r.dir, "sessions", fmt.Sprintf("%d.json", s.client.Process.Pid))
			noErrors(t, os.MkdirAll(filepath.Dir(path), 0o700))
			noErrors(t, os.WriteFile(path, fmt.Appendf(nil, `{"pid":%d,"sessionId":%q,"procStart":"test %d","status":"waiting"}`, s.client.Process.Pid, s.session, i), 0o600))
		}
		r.until(s.name+" is at work", func() bool { x := stateOf(s); return x.State == atWork && x.IsActive && !x.IsIdle })
	}
	for _, s := range seats {
		switch {
		case s.kill:
			noErrors(t, s.client.Process.Kill())
			_ = s.client.Wait() // it was killed
		case s.name != "lives":
			hook(s, "SessionEnd", `,"reason":"other"`)
		}
	}
	began := time.Now()
	for _, s := range seats[:4] {
		r.until(s.name+" has ended", func() bool { x := stateOf(s); return x.State == "ended" && !x.IsActive && x.IsIdle })
		label := stateOf(s).Label
		if series := fmt.Sprintf("agent_session_active{session=%q} 0\n", label); !strings.Contains(r.get("/metrics").Body, series) {
			t.Errorf("%s: /metrics lacks %s", s.name, series)
		}
		t.Logf("%s: ended after %.1f s", s.name, time.Since(began).Seconds())
	}
	if x := stateOf(seats[4]); x.State != "waiting" || !x.IsActive {
		t.Errorf("who lives is %q, active: %t", x.State, x.IsActive)
	}
}
