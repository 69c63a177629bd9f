//go:build realclient

package main

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"sm/observer/api"
)

// TestRealClientEnds: a client that has ended is shown so soon, by whatever it ended, and is at work no more.
func TestRealClientEnds(t *testing.T) {
	r := newPolicyRun(t)
	ended := func(what, session string, since time.Time) {
		t.Helper()
		var s api.Session
		eventually(t, what+": the session has ended", func() string {
			if s = r.sm.byID()[session]; s.State != "ended" || s.IsActive || !s.IsIdle {
				return fmt.Sprintf("it is %q, active: %t, idle: %t", s.State, s.IsActive, s.IsIdle)
			}
			return ""
		})
		took := time.Since(since)
		if active, there := r.sm.series()[fmt.Sprintf(
			"agent_session_active{session=%q}",
			s.Label,
		)]; !there ||
			active != 0 {
			t.Errorf("%s: agent_session_active is %v, there: %t", what, active, there)
		}
		t.Logf("%-28s ended after %.1f s", what, took.Seconds())
	}
	kill := func(pid int) time.Time {
		t.Helper()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		return time.Now()
	}

	r.begin(20_000)
	r.turn("a turn", modelStep{grow: 1000})
	r.home.enter("/exit")
	if !r.home.gone(patience) {
		t.Fatal("the client does not quit")
	}
	ended("/exit", r.current, time.Now())

	r.begin(21_000, "--resume", r.current)
	eventually(t, "--resume: it is at work again", func() string {
		if s := r.sm.byID()[r.current]; s.State != "idle" || !s.IsActive {
			return s.State
		}
		return ""
	})
	r.prompt(modelStep{grow: 1000, tools: 1}, modelStep{grow: 500, hold: true}, modelStep{grow: 500})
	r.held()
	eventually(t, "in a turn", func() string { // the client's registry is looked at once a second
		if s := r.sm.byID()[r.current]; s.State != "busy" || s.IsIdle {
			return fmt.Sprintf("it is %q, idle: %t", s.State, s.IsIdle)
		}
		return ""
	})
	since := kill(r.home.pid)
	ended("killed in a turn", r.current, since)
	r.home.gone(patience)
	r.stub.letGo()

	r.stub.script(modelStep{grow: 1000, tools: 1}, modelStep{grow: 500})
	session := r.home.headless()
	ended("--print", session, time.Now())

	r.stub.script(modelStep{grow: 1000, tools: 1}, modelStep{grow: 500, hold: true})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := grouped(
		ctx,
		r.home.client,
		"--print",
		"Go on.",
		"--session-id",
		"11111111-2222-4333-8444-555555555555",
		"--model",
		r.home.model,
	)
	cmd.Dir, cmd.Env = r.home.project, r.home.environ()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.held()
	session = "11111111-2222-4333-8444-555555555555"
	eventually(t, "--print: it is at work", func() string {
		if s := r.sm.byID()[session]; s.State != "busy" {
			return s.State
		}
		return ""
	})
	since = kill(cmd.Process.Pid)
	_ = cmd.Wait() // it was killed
	ended("--print killed in a turn", session, since)
	r.stub.letGo()
}
