package doctor

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
)

// TestOtherObserver tests an old observer that still runs after an upgrade.
func TestOtherObserver(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "sm") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const version = "sm v0.2.0 (go1.26.8, linux/amd64, 0123456789ab, 2026-01-02)"
	d := doctor{
		Options: Options{Sockets: []string{filepath.Join(dir, "s")}, Version: version},
	}
	l, err := net.Listen("unix", d.Sockets[0])
	if err != nil {
		t.Fatal(err)
	}
	var sessions, metrics string
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			_, _ = io.WriteString(w, metrics)
			return
		}
		_, _ = io.WriteString(w, sessions)
	}))
	_ = web.Listener.Close()
	web.Listener = l
	web.Start()
	t.Cleanup(web.Close)

	healthy := Finding{Check: "observer", Status: Healthy, Text: "it answers and has 0 sessions"}
	other := func(what string) []Finding {
		return []Finding{
			healthy,
			{"observer", Noted, "it is " + what + ", and this is " + version, restartRemedy, ""},
		}
	}
	const none = `{"sessions":[]}`
	const build = "# TYPE sm_build_info gauge\nsm_build_info{commit=%q,goversion=\"go1.26.8\",version=%q} 1\n"
	for _, tt := range []struct {
		sessions, metrics string
		want              []Finding
	}{
		{none, "", []Finding{healthy}},
		{none, fmt.Sprintf(build, "0123456789ab", "v0.2.0"), []Finding{healthy}},
		{none, fmt.Sprintf(build, "aaaaaaaaaaaa", "v0.1.0"), other("v0.1.0 (aaaaaaaaaaaa)")},
		{none, fmt.Sprintf(build, "aaaaaaaaaaaa", "v0.2.0"), other("v0.2.0 (aaaaaaaaaaaa)")},
		{`{"sessions":[],"catching_up":true}`, "", []Finding{{
			"observer", Noted, "it is still reading the transcripts that existed when it started",
			"run sm doctor again in a moment", "",
		}}},
		// An agent has left its session by /clear, or has ended: no source reports it any
		// more.
		{
			`{"sessions":[{"is_active":true,"state":"left"},{"is_active":true,"state":"ended"},{"is_active":false}]}`, "",
			[]Finding{{"observer", Healthy, "it answers and has 3 sessions", "", ""}},
		},
	} {
		sessions = tt.sessions
		metrics = tt.metrics
		d.findings = nil
		d.observer(t.Context())
		if diff := cmp.Diff(tt.want, d.findings); diff != "" {
			t.Errorf("%s %s (-want +got)\n%s", tt.sessions, tt.metrics, diff)
		}
	}
}

func TestSession(t *testing.T) {
	t.Parallel()
	now := time.Date(2040, 1, 2, 3, 4, 5, 0, time.UTC)
	ago := func(d time.Duration) *time.Time {
		at := now.Add(-d)
		return &at
	}
	tokens := int64(61000)
	const anew = "give that session a prompt if it had none since sm install, and "
	for _, tt := range []struct {
		change func(s *api.Session)
		text   string
		remedy string
		cause  string
	}{
		{func(*api.Session) {}, "transcript 3s ago, status line 5s ago, hook 2m ago", "", "all is well"},
		{
			func(s *api.Session) { s.LastActive = nil },
			"transcript –, status line 5s ago, hook 2m ago",
			"", "all is well",
		},
		{
			func(s *api.Session) { s.TranscriptPath = "" },
			"no transcript yet, status line 5s ago, hook 2m ago",
			"", "all is well",
		},
		{
			func(s *api.Session) {
				s.TranscriptPath = ""
				s.TokensUsed = &tokens
			},
			"its transcript is in no folder that is watched, status line 5s ago, hook 2m ago",
			"add the projects folder in that client's CLAUDE_CONFIG_DIR to projects in the configuration",
			"its transcript is in no folder that is watched",
		},
		{
			func(s *api.Session) { s.StatuslineAt = nil },
			"transcript 3s ago, status line never, hook 2m ago",
			"trust the folder in that session, and see the check status line",
			"status line never",
		},
		{
			func(s *api.Session) { s.HookAt = nil },
			"transcript 3s ago, status line 5s ago, hook never", anew + "look at /hooks in it",
			"hook never",
		},
		{func(s *api.Session) { s.Client = "codex" }, "transcript 3s ago, hook 2m ago", "", "all is well"},
		{
			func(s *api.Session) {
				s.Client = "codex"
				s.HookAt = nil
			},
			"transcript 3s ago, hook never", anew + "see the check codex hooks",
			"hook never",
		},
		{
			func(s *api.Session) { s.WaitForHooks = 2 },
			"transcript 3s ago, status line 5s ago, hook 2m ago, 2 messages wait for a hook of this session", HooksRemedy,
			"2 messages wait for a hook of this session",
		},
	} {
		s := api.Session{
			Name:           "web",
			TranscriptPath: "/none",
			LastActive:     ago(3 * time.Second),
			StatuslineAt:   ago(5 * time.Second),
			HookAt:         ago(2 * time.Minute),
		}
		tt.change(&s)
		want := Finding{"session web", Healthy, tt.text, tt.remedy, tt.cause}
		if tt.remedy != "" {
			want.Status = Noted
		}
		d := &doctor{Options: Options{Now: now}}
		d.session(&s)
		if diff := cmp.Diff([]Finding{want}, d.findings); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestGrouped tests that sessions with the same cause are one line, and a single one keeps
// its own.
func TestGrouped(t *testing.T) {
	t.Parallel()
	now := time.Now()
	d := &doctor{Options: Options{Now: now}, watching: true}
	for _, name := range []string{"a", "b"} {
		d.session(&api.Session{Name: name})
	}
	d.hooked = true
	d.session(&api.Session{Name: "later"})
	d.watching = false
	d.session(&api.Session{Name: "c", Client: "codex", HookAt: &now})
	two := []Finding{ // with the same cause, but other remedies
		{"session d", Noted, "no transcript yet, hook never", "see above", "hook never"},
		{"session e", Noted, "no transcript yet, hook never", "look at /hooks", "hook never"},
	}
	d.findings = append(d.findings, two...)
	d.ok("tmux", "tmux 3.5a")
	const alone = "known from transcripts alone, as no hook was ever called"
	want := []Finding{
		{"sessions", Noted, "2 sessions: " + alone, "run sm install, and give them a prompt", ""},
		{
			"session later", Noted, "no transcript yet, status line never, hook never",
			"give them a prompt, or start them anew", alone,
		},
		{"session c", Healthy, "no transcript yet, hook 0s ago", "", "all is well"},
		two[0],
		two[1],
		{"tmux", Healthy, "tmux 3.5a", "", ""},
	}
	if diff := cmp.Diff(want, Grouped(d.findings)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
