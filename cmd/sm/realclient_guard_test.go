//go:build realclient

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sm/handoff/guard"
)

// guards installs the guard and lets the observer judge tool calls. The agent finds sm by its
// name.
func (r *policyRun) guards() {
	r.t.Helper()
	r.sm.stop()
	r.sm.configure("guard: {enabled: true}\n")
	settings := filepath.Join(r.home.home, ".claude", "settings.json")
	text := readFile(r.t, settings)
	r.home.write(
		settings,
		strings.Replace(string(text), `"Bash",`, `"Bash", "Write", "Skill",`, 1),
	)
	r.install("--guard")
	r.home.extra = append(r.home.extra, "PATH="+filepath.Dir(r.sm.bin)+":"+os.Getenv("PATH"))
	r.sm.start()
}

// TestRealClientGuard tests that above the threshold the client makes only tool calls that
// hand over, also with another observer, and shows 100 % in its status line.
func TestRealClientGuard(t *testing.T) {
	r := newPolicyRun(t, "CLAUDE_SESSION_MANAGER_ID=worker")
	r.guards()
	dir := filepath.Join(r.home.project, "sessions", "REAL")
	state := func() *guard.State {
		t.Helper()
		s, err := guard.Read(filepath.Join(dir, guard.StateFile))
		noErrors(t, err)
		return s
	}
	bash := func(command string) modelStep {
		return modelStep{
			grow:  10,
			tools: 1,
			bash:  command,
		}
	}

	r.begin(20_000)
	r.turn("activation", bash("sm session activate sessions/REAL implement"), bash("sm session phase sessions/REAL 'Phase 5: Build Loop'"), modelStep{
		grow: 10,
	})
	if s := state(); s.PID != r.home.pid || s.PIDStart == "" {
		t.Errorf("activated: %+v, the client is process %d", s, r.home.pid)
	}
	r.turn("below the threshold", bash("touch below"), modelStep{grow: 10})
	if _, err := os.Stat(filepath.Join(r.home.project, "below")); err != nil {
		t.Error(err)
	}
	eventually(t, "the session is bound", func() string {
		if s := state(); s.SessionID != r.current {
			return "to " + s.SessionID
		}
		return ""
	})
	r.turn("above the threshold", modelStep{grow: 140_000})
	eventually(t, "the status line", func() string {
		if screen := r.home.screen(); !strings.Contains(
			screen,
			"REAL [implement/build-loop] 100%",
		) {
			return screen
		}
		return ""
	})

	r.turn("refused", bash("touch above"), modelStep{grow: 10})
	if s := state(); !s.Overflowed || r.records("CONTEXT OVERFLOW") == 0 {
		t.Errorf("no call was refused: %+v", s)
	}
	r.restart(nil)
	doc := map[string]string{
		"file_path": filepath.Join(dir, guard.DocumentFile),
		"content":   "What to do next.\n",
	}
	r.turn("handing over", bash("touch above"),
		modelStep{
			grow:  10,
			other: "Skill",
			input: map[string]string{"skill": "session", "args": "dehydrate restart"},
		},
		bash("sm session dehydrate"), modelStep{
			grow:  10,
			other: "Write",
			input: doc,
		}, bash("sm session restart"), modelStep{
			grow: 10,
		})
	if _, err := os.Stat(filepath.Join(
		r.home.project,
		"above",
	)); !errors.Is(
		err,
		fs.ErrNotExist,
	) {
		t.Errorf("a refused call was executed: %v", err)
	}
	if text, err := os.ReadFile(doc["file_path"]); err != nil ||
		string(text) != doc["content"] {
		t.Errorf("the document: %q, %v", text, err)
	}
	for _, want := range []string{
		"What follows the name of this skill",
		"A fresh context will have this file",
		"not under sm run: CLAUDE_SUPERVISOR_PID is not set",
	} {
		if r.records(want) == 0 {
			t.Errorf("the agent has not seen %q", want)
		}
	}
	if s := state(); s.Lifecycle != guard.SessionDehydrating || s.KillRequested {
		t.Errorf("at the end: %+v", s)
	}
}
