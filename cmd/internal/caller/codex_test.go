package caller

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/handoff/proc"
	"sm/transcript/claude/hook"
)

// processes writes a folder like /proc, where each process is the parent of the next, and
// returns the id of the last one.
func processes(t *testing.T, commands ...string) (dir string, last int) {
	t.Helper()
	dir = t.TempDir()
	for i, command := range commands {
		pid := 100 + i
		words := strings.Fields(command)
		fields := slices.Repeat([]string{"0"}, 20)
		fields[0] = "S"
		fields[1] = fmt.Sprint(pid - 1)
		fields[19] = fmt.Sprint(7000 + pid)
		path := filepath.Join(dir, fmt.Sprint(pid))
		noError(t, os.Mkdir(path, 0o700))
		for name, text := range map[string]string{
			"stat": fmt.Sprintf(
				"%d (%s) %s",
				pid,
				filepath.Base(words[0]),
				strings.Join(fields, " "),
			),
			"cmdline": strings.Join(words, "\x00") + "\x00",
		} {
			noError(t, os.WriteFile(filepath.Join(path, name), []byte(text), 0o600))
		}
		last = pid
	}
	return dir, last
}

// TestCodexOrigin tests that the environment counts if no shared server is an ancestor, and
// the process if it belongs to a single thread.
func TestCodexOrigin(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)
	vars := map[string]string{
		"TMUX": "/tmp/t,12,0", "TMUX_PANE": "%3", "SM_NAME": "web", "SM_PARENT_ID": "em", "SM_PROVIDER": "claude", "HOME": t.TempDir(),
		"CLAUDE_PID": "2000000000", "CLAUDE_PROJECT_DIR": "/elsewhere", "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000",
	}
	own := hook.Origin{
		Client: "codex",
		Agent:  hook.TmuxAgent("/tmp/t", 12, "%3"),
		Tmux:   "/tmp/t",
		Server: 12,
		Pane:   "%3",
		Name:   "web",
		Parent: "em",
		At:     at,
	}
	alone := hook.Origin{Client: "codex", At: at}
	runs := func(o hook.Origin, pid int) hook.Origin {
		o.PID, o.Start = pid, fmt.Sprint(7000+pid)
		return o
	}
	for _, tt := range []struct {
		name      string
		processes []string
		subagent  bool
		want      hook.Origin
	}{
		{"in a pane", []string{"bash", "codex --no-daemon"}, false, runs(own, 101)},
		{
			"called by a shell",
			[]string{
				"bash",
				"node /usr/bin/codex",
				"/opt/codex --no-daemon",
				"sh -c sm\thook",
			},
			false,
			runs(own, 102),
		},
		{
			"behind the server",
			[]string{"codex app-server --listen unix://", "sh -c sm\thook"},
			false,
			alone,
		},
		{
			"started by what the server started",
			[]string{"codex app-server --listen unix://", "bash", "codex exec hi"},
			false,
			runs(alone, 102),
		},
		{
			"behind a server for another program",
			[]string{"codex mcp-server", "bash", "codex exec hi"},
			false,
			runs(alone, 102),
		},
		{"a subagent", []string{"bash", "codex --no-daemon"}, true, alone},
		{
			"a name that only resembles the server's",
			[]string{"codex my-app-server"},
			false,
			runs(own, 100),
		},
	} {
		dir, parent := processes(t, tt.processes...)
		if diff := cmp.Diff(
			tt.want,
			testCaller(vars).CodexOrigin(at, tt.subagent, dir, parent),
		); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if diff := cmp.Diff(
		alone,
		testCaller(vars).CodexOrigin(at, false, t.TempDir(), 100),
	); diff != "" {
		t.Errorf("without /proc (-want +got):\n%s", diff)
	}
	vars["SM_PROVIDER"] = "codex-fork"
	dir, parent := processes(t, "codex")
	own.Provider = "codex-fork"
	if diff := cmp.Diff(
		runs(own, 100),
		testCaller(vars).CodexOrigin(at, false, dir, parent),
	); diff != "" {
		t.Errorf("with another provider (-want +got):\n%s", diff)
	}
}

// TestOriginBehindServer tests that the environment of processes behind a Codex server
// identifies no agent, for any command.
func TestOriginBehindServer(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)
	by := testCaller(map[string]string{
		"TMUX": "/tmp/t,12,0", "TMUX_PANE": "%3", "SM_NAME": "web", "SM_PARENT_ID": "em", "SM_PROVIDER": "codex", "HOME": t.TempDir(),
		"CLAUDE_SESSION_MANAGER_ID": "worker", "CLAUDE_PID": "2000000000",
	})
	own := hook.Origin{
		Agent:    "worker",
		Tmux:     "/tmp/t",
		Server:   12,
		Pane:     "%3",
		Name:     "web",
		Parent:   "em",
		Provider: "codex",
		PID:      2000000000,
		At:       at,
	}
	alone := hook.Origin{PID: 2000000000, At: at}
	for command, want := range map[string]hook.Origin{
		"codex app-server":  alone,
		"codex mcp-server":  alone,
		"codex --no-daemon": own,
	} {
		dir, parent := processes(t, command, "bash")
		if diff := cmp.Diff(want, by.origin(at, dir, parent)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", command, diff)
		}
	}
}

// TestOwnTerminal tests that a Codex server started by hand in a pane is not the client of
// that pane.
func TestOwnTerminal(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"codex": true, "codex resume --last": true, "codex app-server --listen unix://": false, "codex mcp-server": false,
	} {
		dir, pid := processes(t, "bash", command)
		if got := ownTerminal(proc.Process{
			PID:      pid,
			Start:    "7101",
			Terminal: 34816,
		}, dir); got != want {
			t.Errorf("%s: %v", command, got)
		}
	}
	dir, pid := processes(t, "codex")
	for name, p := range map[string]proc.Process{"no terminal": {
		PID:   pid,
		Start: "7100",
	}, "not seen": {
		PID:      pid,
		Terminal: 34816,
	}} {
		if ownTerminal(p, dir) {
			t.Error(name)
		}
	}
}
