package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript/hook"
)

func TestOrigin(t *testing.T) {
	at := time.Date(2026, 11, 20, 11, 0, 0, 0, time.FixedZone("", 3600))
	pane := map[string]string{"TMUX": "/tmp/t,12,0", "TMUX_PANE": "%3", "CLAUDE_PID": "2000000000"}
	for _, tt := range []struct {
		name string
		vars map[string]string
		want hook.Origin
	}{
		{"in a pane", pane, hook.Origin{Agent: hook.TmuxAgent("/tmp/t", 12, "%3"), Tmux: "/tmp/t", Server: 12, Pane: "%3", PID: 2000000000}},
		{"in a project", map[string]string{"CLAUDE_PID": "2000000000", "CLAUDE_PROJECT_DIR": "/p"}, hook.Origin{PID: 2000000000, Project: "/p"}},
		{"nowhere", map[string]string{"CLAUDE_PID": "2000000000"}, hook.Origin{PID: 2000000000}},
		{"a pane without a server", map[string]string{"TMUX_PANE": "%3", "CLAUDE_PID": "2000000000"}, hook.Origin{PID: 2000000000}},
		{"an odd pane", map[string]string{"TMUX": "/tmp/t,12,0", "TMUX_PANE": "x", "CLAUDE_PID": "2000000000"}, hook.Origin{Tmux: "/tmp/t", Server: 12, PID: 2000000000}},
	} {
		tt.want.At = at.UTC()
		if diff := cmp.Diff(tt.want, testEnv(tt.vars).origin(at)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestClientPID(t *testing.T) {
	proc := t.TempDir()
	for pid, stat := range map[int]string{
		10: "10 (sh) S 20 10 10", 20: "20 (bash) S 30 0", 30: "30 (claude) S 40 0", 40: "40 (zsh) S 1 0",
		50: "50 (a) (sh) S 30", 60: "60 (sh) S 1 0", 70: "70 sh", 80: "80 (sh)", 90: "90 (sh) S x", 100: "100 (sh) S 100",
	} {
		dir := filepath.Join(proc, fmt.Sprint(pid))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		named        string
		parent, want int
	}{
		{"4711", 10, 4711}, {"", 10, 30}, {"0", 20, 30}, {"1", 30, 30}, {"x", 30, 30}, {"", 50, 50}, {"", 60, 0},
		{"", 70, 70}, {"", 80, 80}, {"", 90, 90}, {"", 100, 100}, {"", 99, 99}, {"", 1, 0},
	} {
		if got := clientPID(tt.named, tt.parent, proc); got != tt.want {
			t.Errorf("%q, parent %d: %d, want %d", tt.named, tt.parent, got, tt.want)
		}
	}
	if _, err := processStat(proc, 90); err == nil || !strings.Contains(err.Error(), "x") {
		t.Errorf("error %v", err)
	}
}
