package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sm/handoff"
)

// guardedClient starts a run whose client works in a guarded session.
func (r *runRig) guardedClient() (first runEvent, state func() *handoff.GuardState) {
	r.t.Helper()
	r.cwd = r.dir
	first = r.client()
	r.order("call cd $" + runClientDir + " && sm session activate sessions/A x")
	return first, func() *handoff.GuardState {
		r.t.Helper()
		s, err := handoff.ReadGuard(filepath.Join(r.dir, handoff.GuardFolder, "A", handoff.GuardFile))
		if err != nil {
			r.t.Fatal(err)
		}
		return s
	}
}

const handOver = "cd $" + runClientDir + " && sm session update sessions/A overflowed true && sm session dehydrate && echo x >sessions/A/DEHYDRATED_CONTEXT.md && "

// TestRunGuardedRestarts: the session of the client goes on in the next one.
func TestRunGuardedRestarts(t *testing.T) {
	r := newRunRig(t)
	first, state := r.guardedClient()
	if s := state(); s.PID != first.PID {
		t.Errorf("activated: %+v, the client is process %d", s, first.PID)
	}
	r.order("spawn " + handOver + "sm session restart")
	second := r.wait("start", 2)
	if prompt := second.Argv[len(second.Argv)-1]; !strings.Contains(prompt, "sessions/A/DEHYDRATED_CONTEXT.md and continue") {
		t.Errorf("started with %q", second.Argv)
	}
	r.until("it resumes", func() bool { return state().Lifecycle == handoff.SessionResuming })
	if s := state(); s.PID != second.PID || s.Overflowed || s.KillRequested {
		t.Errorf("%+v", s)
	}
}

// TestRunGuardedRefused: a restart that cannot be leaves the session as it was, and whoever has asked hears why.
func TestRunGuardedRefused(t *testing.T) {
	for _, c := range []struct {
		name, want string
		vars, args []string
	}{
		{"no restart is left", "no restart of 0 is left", []string{"SM_SUPERVISE_RESTARTS=0"}, nil},
		{"it prints", printsOnly, nil, []string{"-p"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRunRig(t, c.vars...)
			r.args = c.args
			_, state := r.guardedClient()
			for range 2 {
				r.order("call " + handOver + "! sm session restart 2>refused")
				text, err := os.ReadFile(filepath.Join(r.dir, "refused"))
				want := "sm: not restarted: " + c.want + "; tell the user where the document is, and ask for a fresh session that reads it\n"
				if diff := cmp.Diff(want, string(text)); diff != "" || err != nil {
					t.Errorf("error %v (-want +got):\n%s", err, diff)
				}
				got := state()
				if diff := cmp.Diff(&handoff.GuardState{
					PID: got.PID, PIDStart: got.PIDStart, Skill: "x", Lifecycle: handoff.SessionDehydrating, Overflowed: true, RestartRefused: c.want,
				}, got, cmpopts.IgnoreUnexported(*got), cmpopts.IgnoreTypes(time.Time{})); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			r.order("exit 0")
			if got := r.code(); got != 0 || len(r.events("start")) != 1 {
				t.Errorf("code %d, started %d times", got, len(r.events("start")))
			}
		})
	}
}

const printsOnly = "a client that prints one answer is not started again; leave --print out"

// TestRunGuardedCompleted: what is completed does not come back with the next client.
func TestRunGuardedCompleted(t *testing.T) {
	r := newRunRig(t)
	first, state := r.guardedClient()
	r.order("call cd $" + runClientDir + " && sm session update sessions/A lifecycle completed")
	r.signal(syscall.SIGUSR1)
	r.wait("start", 2)
	r.signal(syscall.SIGTERM) // it is heard after the restart has been dealt with
	if got := r.code(); got != 143 {
		t.Errorf("code %d", got)
	}
	if s := state(); s.Lifecycle != handoff.SessionCompleted || s.PID != first.PID {
		t.Errorf("%+v", s)
	}
}
