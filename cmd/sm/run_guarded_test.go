package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"sm/handoff/guard"
	"sm/handoff/proc"
)

// guardedClient starts a run whose client works in a guarded session.
func (r *runRig) guardedClient() (first runEvent, state func() *guard.State) {
	r.t.Helper()
	r.cwd = r.dir
	first = r.client()
	r.order("call cd $" + runClientDir + " && sm session activate sessions/A x")
	return first, func() *guard.State {
		r.t.Helper()
		s, err := guard.Read(filepath.Join(r.dir, guard.Folder, "A", guard.StateFile))
		noErrors(r.t, err)
		return s
	}
}

const handOver = "cd $" + runClientDir + " && sm session update sessions/A overflowed true && sm session dehydrate && echo x >sessions/A/DEHYDRATED_CONTEXT.md && "

// TestRunGuardedRestarts tests that the guarded session continues in the next client.
func TestRunGuardedRestarts(t *testing.T) {
	t.Parallel()
	r := newRunRig(t)
	first, state := r.guardedClient()
	if s := state(); s.PID != first.PID {
		t.Errorf("activated: %+v, the client is process %d", s, first.PID)
	}
	r.order("spawn " + handOver + "sm session restart")
	second := r.wait("start", 2)
	if prompt := second.Argv[len(second.Argv)-1]; !strings.Contains(
		prompt,
		"sessions/A/DEHYDRATED_CONTEXT.md and continue",
	) {
		t.Errorf("started with %q", second.Argv)
	}
	r.until("it resumes", func() bool { return state().Lifecycle == guard.SessionResuming })
	if s := state(); s.PID != second.PID || s.Overflowed || s.KillRequested {
		t.Errorf("got %+v", s)
	}
}

// lists writes the entry of a client to its registry.
func (r *runRig) lists(pid int, session string) {
	r.t.Helper()
	stat, err := proc.Stat("/proc", pid)
	noErrors(r.t, err)
	entry := fmt.Appendf(
		nil,
		`{"pid":%d,"sessionId":%q,"procStart":%q}`,
		pid,
		session,
		stat.Start,
	)
	path := filepath.Join(r.dir, ".claude", "sessions", fmt.Sprintf("%d.json", pid))
	writeFile(r.t, path, entry)
}

// TestForgedVariablesFreeNoSession tests that a session stays full whatever variables the
// processes of its client set or drop, also outside its process session and family, until the
// client itself has another session.
func TestForgedVariablesFreeNoSession(t *testing.T) {
	t.Parallel()
	const activate = "sm session activate sessions/A x; true"
	for _, listed := range []bool{true, false} {
		for name, call := range map[string]string{
			"session":            "CLAUDE_CODE_SESSION_ID=x " + activate,
			"another registry":   "mkdir -p forged/sessions; CLAUDE_CONFIG_DIR=$PWD/forged HOME=$PWD/forged CLAUDE_CODE_SESSION_ID=x " + activate,
			"no variables":       "env -i PATH=$PATH " + activate,
			"session of its own": "setsid env CLAUDE_CODE_SESSION_ID=x " + activate,
			"a pid":              "CLAUDE_CODE_SESSION_ID=x sm session activate sessions/A x --pid $$; true",
			"by force":           "env -i PATH=$PATH sm session update sessions/A overflowed false --force; true",
			"orphan":             orphan("CLAUDE_CODE_SESSION_ID=x CLAUDE_PID=1 " + activate),
			"orphan by force":    orphan("env -i PATH=$PATH sm session update sessions/A overflowed false --force"),
		} {
			t.Run(fmt.Sprintf("%s, listed %v", name, listed), func(t *testing.T) {
				t.Parallel()
				r := newRunRig(t)
				first, state := r.guardedClient()
				if listed {
					r.lists(first.PID, "s1")
				}
				r.order("call cd $" + runClientDir + " && sm session update sessions/A sessionId s1 && sm session update sessions/A overflowed true")
				r.order("call cd $" + runClientDir + " && { " + call + "; }")
				if s := state(); !s.Overflowed || s.SessionID != "s1" {
					t.Errorf("freed: %+v", s)
				}
				r.lists(first.PID, "s2") // as after a clear
				r.order("call cd $" + runClientDir + " && " + activate)
				if s := state(); s.Overflowed || s.PID != first.PID {
					t.Errorf("not free in a fresh context: %+v", s)
				}
			})
		}
	}
}

// orphan runs a command once its parents have ended, and waits for it.
func orphan(command string) string {
	return "rm -f orphaned; (setsid sh -c 'until grep -q ^sm /proc/$(ps -o ppid= -p $$ | tr -d \" \")/comm; do sleep 0.01; done; " + command +
		"; touch orphaned' >/dev/null 2>&1 &); until [ -e orphaned ]; do sleep 0.01; done"
}
