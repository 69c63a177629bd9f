package caller

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript/claude/hook"
)

func testCaller(vars map[string]string) *Caller {
	return &Caller{Env: func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSupervisorIsAnAncestor(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"": "is not set", "0": "is not set", "-1": "is not set", "x": "is not set", "2147483647": "has not started this client",
		fmt.Sprint(os.Getpid()): "has not started this client",
	} {
		p, err := testCaller(map[string]string{SupervisorVariable: value}).Supervisor()
		if err == nil || p != nil || !strings.HasPrefix(err.Error(), "not under sm run: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", value, p, err)
		}
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 11, 0, 0, 0, time.FixedZone("", 3600))
	pane := map[string]string{
		"TMUX":      "/tmp/t,12,0",
		"TMUX_PANE": "%3",
	}
	for _, tt := range []struct {
		name string
		vars map[string]string
		want hook.Origin
	}{
		{"in a pane", pane, hook.Origin{
			Agent:  hook.TmuxAgent("/tmp/t", 12, "%3"),
			Tmux:   "/tmp/t",
			Server: 12,
			Pane:   "%3",
		}},
		{
			"in a project",
			map[string]string{"CLAUDE_PROJECT_DIR": "/p"},
			hook.Origin{Project: "/p"},
		},
		{"nowhere", map[string]string{}, hook.Origin{}},
		{"a pane without a server", map[string]string{"TMUX_PANE": "%3"}, hook.Origin{}},
		{
			"an invalid pane",
			map[string]string{"TMUX": "/tmp/t,12,0", "TMUX_PANE": "x"},
			hook.Origin{Tmux: "/tmp/t", Server: 12},
		},
	} {
		tt.vars["CLAUDE_PID"] = "2000000000"
		tt.want.PID = 2000000000
		tt.vars["HOME"] = t.TempDir()
		tt.want.At = at.UTC()
		if diff := cmp.Diff(tt.want, testCaller(tt.vars).Origin(at)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
