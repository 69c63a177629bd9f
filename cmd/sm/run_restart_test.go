package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/handoff/proc"
	"sm/observer/api"
)

func TestRunSignalRestarts(t *testing.T) {
	t.Parallel()
	r := newRunRig(t)
	first := r.client("-c", "--model", "opus", "Fix it.")
	r.signal(syscall.SIGUSR1)
	second := r.wait("start", 2)
	if diff := cmp.Diff(
		[]string{runClientName, "--model", "opus", "--", "Continue where you left off."},
		second.Argv,
	); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(first.Env, second.Env); diff != "" || second.PID == first.PID {
		t.Errorf("%d after %d; (-first +second):\n%s", second.PID, first.PID, diff)
	}
	if got := len(r.events("SIGTERM")); got != 1 {
		t.Errorf("the first client got %d SIGTERM, want 1", got)
	}
	r.order("exit 3")
	if got := r.code(); got != 3 {
		t.Errorf("got %d", got)
	}
	if want := "restarted the client 1 of 10 times\n"; !strings.HasSuffix(
		r.stderr.String(),
		want,
	) {
		t.Errorf("stderr: %q", &r.stderr)
	}
	r.noneLeft()
}

func TestRunRotates(t *testing.T) {
	t.Parallel()
	r := newRunRig(t)
	o := r.observer()
	r.start(
		"--name",
		"em",
		"--parent",
		"root",
		"--",
		runClientName,
		"--resume",
		"abc",
		"--ide",
	)
	first := r.wait("start", 1)
	stat, err := proc.Stat("/proc", first.PID)
	noErrors(t, err)
	asked := o.request(r, "a question", func(api.Run) bool { return true })
	if diff := cmp.Diff(api.Run{
		Client:       first.PID,
		Start:        stat.Start,
		RestartsLeft: 10,
		CanRestart:   true,
	}, asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	prompt := "Read /tmp/a b.md and continue from where you left off."
	again := api.Instruction{Rotation: "ro-1", Action: api.ActionRestart, Prompt: prompt}
	o.instruct(again)
	second := r.wait("start", 2)
	if diff := cmp.Diff(
		[]string{runClientName, "--ide", "--", prompt},
		second.Argv,
	); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	outcome := o.outcome(r, "ro-1")
	want := api.Run{
		Client:       second.PID,
		Start:        outcome.Start,
		RestartsLeft: 9,
		CanRestart:   true,
		Handled:      "ro-1",
		Outcome:      api.OutcomeRestarted,
	}
	if diff := cmp.Diff(want, outcome); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// An observer that was started again repeats the instruction, which restarts nothing.
	o.instruct(again, api.Instruction{Rotation: "ro-2", Action: "dance"})
	if got := o.outcome(
		r,
		"ro-2",
	); got.Outcome != api.OutcomeRefused || got.Client != second.PID ||
		got.RestartsLeft != 9 {
		t.Errorf("unknown action: got %+v", got)
	}
	if diff := cmp.Diff([]api.Registration{{
		ID:       "em",
		ParentID: "root",
		Name:     "em",
		Provider: "claude",
	}}, o.registered); diff != "" || o.agent != "em" {
		t.Errorf("of %s (-want +got):\n%s", o.agent, diff)
	}
	r.order("exit 0")
	if got := r.code(); got != 0 || len(r.events("start")) != 2 {
		t.Errorf("code %d, started %d times", got, len(r.events("start")))
	}
	r.noneLeft()
}

// TestRunNeverEndsWhatItCannotStart tests that the client keeps running if no other one could
// be started.
func TestRunNeverEndsWhatItCannotStart(t *testing.T) {
	t.Parallel()
	sm, err := exec.LookPath(runClientName)
	noErrors(t, err)
	for _, c := range []struct {
		name   string
		vars   []string
		flags  []string
		args   []string
		before func(program string)
		want   string
		// the report to the observer
		outcome string
		left    int
		can     bool
	}{
		{
			name:    "it prints",
			args:    []string{"-p", "Fix it."},
			want:    "a client that prints one answer is not started again; leave --print out",
			outcome: api.OutcomeRefused,
			left:    10,
		},
		{
			name:    "another provider",
			flags:   []string{"--provider", "codex"},
			want:    `clients of provider "codex" are not started again; only claude's are`,
			outcome: api.OutcomeRefused,
			left:    10,
		},
		{
			name:    "no restarts",
			vars:    []string{"SM_SUPERVISE_RESTARTS=0"},
			want:    "no restart of 0 is left",
			outcome: api.OutcomeExhausted,
		},
		{
			name:    "the program is gone",
			before:  func(program string) { _ = os.Remove(program) },
			want:    "no such program; look at its name and at PATH",
			outcome: api.OutcomeRefused,
			left:    10,
			can:     true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRunRig(t, c.vars...)
			o := r.observer()
			program := filepath.Join(r.dir, runClientName)
			noErrors(t, os.Symlink(sm, program))
			r.start(slices.Concat(c.flags, []string{"--", program}, c.args)...)
			r.wait("start", 1)
			if c.before != nil {
				c.before(program)
			}
			o.instruct(api.Instruction{
				Rotation: "ro-1",
				Action:   api.ActionRestart,
				Prompt:   "Go on.",
			})
			got := o.outcome(r, "ro-1")
			want := api.Run{
				Client:       got.Client,
				Start:        got.Start,
				RestartsLeft: c.left,
				CanRestart:   c.can,
				Handled:      "ro-1",
				Outcome:      c.outcome,
				Reason:       c.want,
			}
			if diff := cmp.Diff(want, got); diff != "" || got.Client == 0 {
				t.Errorf("(-want +got):\n%s", diff)
			}
			r.order("ignore-term")
			r.signal(syscall.SIGTERM)
			r.wait("SIGTERM", 1)
			r.order("exit 4")
			if got := r.code(); got != 4 || len(r.events("start")) != 1 ||
				len(r.events("SIGTERM")) != 1 {
				t.Errorf("code %d, started %d times", got, len(r.events("start")))
			}
			if want := "sm: did not restart the client: " + c.want + "\n"; !strings.HasSuffix(
				r.stderr.String(),
				want,
			) {
				t.Errorf("got  %q\nwant %q", &r.stderr, want)
			}
			r.noneLeft()
		})
	}
}

// TestRunKillsUnresponsive tests that a client that ignores SIGTERM is killed, and that a
// stopped one is continued first.
func TestRunKillsUnresponsive(t *testing.T) {
	t.Parallel()
	r := newRunRig(t, "SM_SUPERVISE_TERM_AFTER=1s")
	first := r.client()
	r.order("ignore-term")
	r.order("stop")
	r.until(
		"it stops",
		func() bool {
			p, err := proc.Stat(
				"/proc",
				first.PID,
			)
			return err == nil &&
				p.State == "T"
		},
	)
	r.signal(syscall.SIGUSR1)
	r.wait("start", 2)
	if received := r.events("SIGTERM"); len(received) != 1 || received[0].PID != first.PID ||
		proc.Alive(first.PID, "") {
		t.Errorf("got SIGTERM: %+v", received)
	}
	r.order("exit 0")
	if got := r.code(); got != 0 {
		t.Errorf("got %d", got)
	}
	r.noneLeft()
}
