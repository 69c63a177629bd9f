package top

import (
	"strings"
	"testing"

	"sm/observer/api"
)

// TestStateText checks that the reason is shown as far as there is room, and the
// state rather than a part of a word.
func TestStateText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		state, reason string
		width         int
		want          string
	}{
		{"waiting", "permission: Bash", 26, "waiting: permission: Bash"},
		{"waiting", "permission: Bash", 16, "permission: Bash"},
		{"waiting", "permission: Bash", 10, "permission"},
		{"waiting", "permission prompt", 10, "waiting"},
		{"waiting", "question", 10, "question"},
		{"waiting", "", 10, "waiting"},
		{"waiting", "a\x1b[31m\nb", 26, "waiting: a?[31m b"},
		{"busy", "permission: Bash", 26, "at work"},
		{"quiet", "", 10, "quiet"},
	} {
		s := &api.Session{State: tt.state, WaitingFor: tt.reason}
		if got := stateText(s, tt.width); got != tt.want {
			t.Errorf("%q in %d: got %q, want %q", tt.reason, tt.width, got, tt.want)
		}
	}
}

// TestOnlyClient checks that the sessions of one client are listed alone.
func TestOnlyClient(t *testing.T) {
	t.Parallel()
	all := []api.Session{
		{ID: "a", Client: "claude", State: "busy"},
		{ID: "b", Client: "codex", State: "busy"},
		{ID: "c", State: "idle"},
	}
	for client, want := range map[string]string{"": "a b c", "claude": "a c", "codex": "b"} {
		x := newModel(false)
		x.Width = 80
		x.height = 12
		x.Client = client
		x.poll(api.Sessions{Sessions: all}, nil, topNow)
		var got []string
		for _, s := range x.rows {
			got = append(got, s.ID)
		}
		if strings.Join(got, " ") != want ||
			client != "" && !strings.Contains(x.screen(), "  "+client+" alone") {
			t.Errorf("%q: got %q, want %q, in\n%s", client, got, want, x.screen())
		}
	}
	if err := CheckName("client",
		"gemini",
		[]string{"claude", "codex"},
	); err == nil ||
		!strings.HasSuffix(err.Error(), "give one of claude, codex") {
		t.Error(err)
	}
}

// TestHeaderAndFooterFit checks that parts without room are left out completely, and that the
// most important ones stay.
func TestHeaderAndFooterFit(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 60, 80, 120} {
		x := topScene(width, 10, false)
		x.All.Demo = true
		x.All.Others = 1234
		x.HideQuiet = true
		x.Filter = "web"
		for range 300 {
			x.All.Sessions = append(x.All.Sessions, api.Session{
				ID:            "w",
				Project:       "web",
				State:         "busy",
				Queued:        3,
				PressureLevel: "imminent",
			})
		}
		x.arrange()
		lines := strings.Split(x.screen(), "\n")
		for _, line := range []string{lines[0], lines[len(lines)-1]} {
			if strings.Contains(line, "…") {
				t.Errorf("in %d cells: %q is cut", width, line)
			}
		}
		text := lines[0] + lines[len(lines)-1]
		for _, want := range []string{"1 waiting", "filter: web", "? help"} {
			if !strings.Contains(text, want) {
				t.Errorf("in %d cells: no %q in %q", width, want, text)
			}
		}
	}
}
