package observer

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sm/handoff/guard"
	"sm/observer/notify"
	"sm/transcript/claude/hook"
)

// guarded is a client, process 4711, in a project with a session folder, and an observer that
// judges its tool calls.
type guarded struct {
	*rig
	dir, session string
	client       guard.Client
}

func newGuarded(t testing.TB) *guarded {
	g := &guarded{
		rig:     newWatched(t),
		session: uuid(1),
		client:  guard.Client{SessionID: uuid(1), PID: 4711, Start: "9"},
	}
	g.dir = filepath.Join(g.rig.dir, "proj", "sessions", "2026_02_05_MY_SESSION")
	g.o.Guard = GuardOptions{
		Enabled: true,
		Guard:   guard.Guard{Threshold: 0.76, Allow: []string{"Write", "Edit", "Read"}},
	}
	g.o.Operator = &notify.Command{Argv: []string{
		"tee",
		"-a",
		filepath.Join(g.rig.dir, "notified"),
	}}
	return g
}

func (g *guarded) activate() {
	g.t.Helper()
	_, err := guard.Activate(g.t.Context(), guard.Activation{
		Dir:    g.dir,
		Skill:  "implement",
		Client: g.client,
		Proven: true,
		Now:    time.Now(),
	})
	noErrors(g.t, err)
}

func (g *guarded) state() *guard.State {
	g.t.Helper()
	s, err := guard.Read(g.file())
	noErrors(g.t, err)
	return s
}

func (g *guarded) file() string { return filepath.Join(g.dir, guard.StateFile) }
func (g *guarded) doc() string  { return filepath.Join(g.dir, guard.DocumentFile) }

func (g *guarded) update(field, value string) {
	g.t.Helper()
	noErrors(
		g.t,
		guard.Update(
			g.t.Context(),
			g.file(),
			func(s *guard.State) error { return s.Set(field, value, time.Now(), false) },
		),
	)
}

// sm returns the origin in all payloads of the client. It is in another folder.
func (g *guarded) sm() string {
	return fmt.Sprintf(
		`"cwd":%q,"sm":{"agent":"em","pid":%d,"start":%q,"project":%q}`,
		g.rig.dir,
		g.client.PID,
		g.client.Start,
		filepath.Dir(filepath.Dir(g.dir)),
	)
}

// call requests a tool call and returns the reason of a refusal, "" for none.
func (g *guarded) call(tool, input string) string {
	g.t.Helper()
	body := fmt.Sprintf(
		`{"session_id":%q,"hook_event_name":"PreToolUse","tool_name":%q,"tool_input":%s,%s}`,
		g.client.SessionID,
		tool,
		input,
		g.sm(),
	)
	a := g.ask(http.MethodPost, "/hooks/claude", body)
	if a.Code == http.StatusNoContent {
		return ""
	}
	x, ok := hook.DecodeAnswer([]byte(a.Body))
	if !ok || x.Event != hook.PreToolUse || x.Deny == "" {
		g.t.Fatalf("got %d %s", a.Code, a.Body)
	}
	return x.Deny
}

func (g *guarded) refused(what string, want bool) {
	g.t.Helper()
	if got := g.call("Bash", `{"command":"ls"}`); (got != "") != want {
		g.t.Errorf("%s: refused with %q, want %v", what, got, want)
	}
}

// shows reports a percentage and returns the line for display.
func (g *guarded) shows(percent int) string {
	g.t.Helper()
	body := fmt.Sprintf(`{"session_id":%q,"hook_event_name":"StatusLine","version":"2.1.197","context_window":{"context_window_size":200000,"used_percentage":%d,`+
		`"current_usage":{"input_tokens":%d}},%s}`, g.client.SessionID, percent, percent*2000, g.sm())
	a := g.ask(http.MethodPost, "/hooks/claude", body)
	if a.Code == http.StatusNoContent {
		return ""
	}
	var line hook.StatusAnswer
	noErrors(g.t, json.Unmarshal([]byte(a.Body), &line))
	return line.Line
}

// TestGuard_Flow tests that a full session is detected and its calls refused, except those
// that are needed for a handoff.
func TestGuard_Flow(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.start()
	g.activate()
	g.update("currentPhase", "Phase 5: Build Loop")
	for _, tt := range []struct {
		percent int
		line    string
	}{{19, "25%"}, {38, "50%"}, {57, "75%"}, {75, "99%"}} {
		if got, want := g.shows(tt.percent), "2026_02_05_MY_SESSION [implement/build-loop] "+tt.line; got != want {
			t.Errorf("%d%%: got line %q, want %q", tt.percent, got, want)
		}
		g.refused(fmt.Sprint(tt.percent, "%"), false)
	}
	if got := g.shows(76); !strings.HasSuffix(got, " 100%") {
		t.Errorf("at the threshold: %q", got)
	}
	if s := g.state(); s.Overflowed {
		t.Error("overflow before a tool was refused")
	}
	reason := g.call("Bash", `{"command":"ls"}`)
	if !strings.Contains(reason, "/session dehydrate restart") ||
		!strings.Contains(reason, g.doc()) {
		t.Errorf("refused with %q", reason)
	}
	if s := g.state(); !s.Overflowed || s.Lifecycle != guard.SessionActive {
		t.Errorf("after the refusal: %+v", s)
	}
	for input, refused := range map[string]bool{
		`Write {"file_path":"` + g.doc() + `","content":"` + strings.Repeat(
			"x",
			30<<10,
		) + `"}`: false,
		`Edit {"file_path":"` + g.doc() + `"}`:                 false,
		`Read {"file_path":"` + g.doc() + `"}`:                 false,
		`Bash {"command":"sm session restart"}`:                false,
		`Skill {"skill":"session","args":"dehydrate restart"}`: false,
		`Write {"file_path":"` + g.file() + `"}`:               true,
		`Bash {"command":"sm session restart; ls"}`:            true,
		`Bash {"command":"` + strings.Repeat(
			"sm session restart ",
			2000,
		) + `"}`: true, // too large, so unknown to the observer
		`Task {"prompt":"go on for me"}`: true,
		`mcp__x__y {}`:                   true,
		`Glob null`:                      true,
	} {
		tool, input, _ := strings.Cut(input, " ")
		if got := g.call(tool, input); (got != "") != refused {
			t.Errorf("%s %.60s: refused with %q, want %v", tool, input, got, refused)
		}
	}
	g.until("the operator is notified", func() bool { return g.notified() != "" })
	g.refused("once more", true)
	g.stop()
	if got, want := g.notified(), "[sm guard] 2026_02_05_MY_SESSION has used up its context: its tool calls are refused until it restarts.\n"; got != want {
		t.Errorf("the operator got %q", got)
	}
}

func (g *guarded) notified() string {
	text, err := os.ReadFile(filepath.Join(g.rig.dir, "notified"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		g.t.Fatal(err)
	}
	return string(text)
}
