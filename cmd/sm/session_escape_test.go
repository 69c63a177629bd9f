package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sm/cmd/internal/caller"
	"sm/deploy/install"
	"sm/handoff/guard"
	"sm/handoff/proc"
	"sm/transcript/claude/hook"
)

// captive is a client whose context is full, in a project with other sessions around, and another client beside it.
type captive struct {
	t                *testing.T
	rand             *rand.Rand
	guard            guard.Guard
	home, proj, full string
	self, other      guard.Client
	project          bool // CLAUDE_PROJECT_DIR reaches its commands
	listed           bool // the registry knows it
	fresh            bool // after a clear
	forges           bool // its calls have other variables than its client's
	done             []string
}

func newCaptive(t *testing.T, seed uint64) *captive {
	t.Helper()
	c := &captive{t: t, rand: rand.New(rand.NewPCG(seed, 0)), home: t.TempDir()}
	c.proj = filepath.Join(c.home, "proj")
	c.full = filepath.Join(c.proj, "sessions", "A")
	c.guard = guard.Guard{Threshold: 0.76, Allow: []string{"Write", "Edit", "Read"}, Program: "/usr/bin/sm"}
	client := func(session string, pid int) guard.Client {
		p, err := proc.Stat("/proc", pid)
		if err != nil {
			t.Skip("needs /proc: ", err)
		}
		return guard.Client{SessionID: session, PID: pid, Start: p.Start}
	}
	c.self, c.other = client("s1", os.Getpid()), client("o1", os.Getppid())
	c.project, c.listed = c.rand.IntN(2) == 0, c.rand.IntN(2) == 0
	for _, dir := range []string{c.proj, filepath.Join(c.home, "elsewhere")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// call judges a tool call, as the observer does.
func (c *captive) call(client guard.Client, tool string, input any, usage float64) (refused bool) {
	c.t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		c.t.Fatal(err)
	}
	p := &hook.Payload{ToolName: tool, ToolInput: raw, CWD: c.proj}
	j, err := c.guard.Check(c.t.Context(), guard.ToolCall{
		Dirs:   []string{c.proj, c.proj},
		Client: client,
		Alive:  proc.Alive,
		Exempt: func(dir string) bool { return c.guard.Exempt(dir, p) },
		Usage:  func(*guard.State) float64 { return usage },
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return j.Refuse
}

func (c *captive) ls(client guard.Client) (refused bool) {
	c.t.Helper()
	return c.call(client, "Bash", map[string]string{"command": "ls"}, 0.1)
}

// sm makes a client's tool call of an sm command, which is judged, and made unless it is refused.
func (c *captive) sm(client guard.Client, usage float64, args ...string) (code int) {
	c.t.Helper()
	var words []string
	for _, arg := range args {
		words = append(words, install.ShellQuote(arg))
	}
	command := "sm " + strings.Join(words, " ")
	c.done = append(c.done, client.SessionID+": "+command)
	if c.call(client, "Bash", map[string]string{"command": command}, usage) {
		c.done = append(c.done, "  refused")
		return -1
	}
	vars := map[string]string{
		"HOME":                   c.home,
		"CLAUDECODE":             "1",
		"CLAUDE_CODE_SESSION_ID": client.SessionID,
		"CLAUDE_PID":             strconv.Itoa(client.PID),
	}
	if c.project {
		vars["CLAUDE_PROJECT_DIR"] = c.proj
	}
	if client == c.self && c.forges {
		c.forge(vars)
	}
	env := testEnv(vars)
	env.dir = c.proj
	env.Registered = func(pid int, _ string) string {
		return map[int]string{c.self.PID: c.registry(), c.other.PID: c.other.SessionID}[pid]
	}
	code = env.execute(c.t.Context(), args)
	c.done = append(c.done, fmt.Sprintf("  %d %v%v", code, env.Stdout, env.Stderr))
	return code
}

// registry is what the client's own registry says of its session, if it has one.
func (c *captive) registry() string {
	switch {
	case c.fresh:
		return "s2"
	case c.listed:
		return "s1"
	}
	return ""
}

// forge makes a call's environment another one, as VARIABLE=value before a command and env -i do.
func (c *captive) forge(vars map[string]string) {
	for name, values := range map[string][]string{
		"CLAUDE_CODE_SESSION_ID": {
			"o1",
			"s2",
			"",
			"x",
		}, "CLAUDE_PID": {
			strconv.Itoa(c.other.PID),
			"4242",
			"1",
			"",
		}, "CLAUDECODE": {""},
		"CLAUDE_CONFIG_DIR": {c.home}, caller.SupervisorVariable: {strconv.Itoa(c.other.PID), ""},
	} {
		if c.rand.IntN(3) == 0 {
			vars[name] = values[c.rand.IntN(len(values))]
		}
	}
	if c.rand.IntN(10) == 0 {
		clear(vars)
	}
	c.done = append(c.done, fmt.Sprint("  with ", vars))
}

func pick[T any](c *captive, all ...T) T { return all[c.rand.IntN(len(all))] }

// order is some session command with some arguments.
func (c *captive) order() []string {
	dir := pick(
		c,
		"sessions/A",
		"sessions/A",
		"sessions/A",
		"sessions/B",
		"sessions/C",
		"../sessions/D",
		"../elsewhere/sessions/E",
		"sessions/../sessions/A",
	)
	pid := strconv.Itoa(pick(c, c.self.PID, c.other.PID))
	at := pick(c, "2001-01-01T00:00:00Z", "2040-01-01T00:00:00Z")
	update := func(field string, values ...string) []string {
		return []string{"session", "update", dir, field, pick(c, values...)}
	}
	args := pick(c,
		[]string{"session", "activate", dir, "x"},
		[]string{"session", "activate", dir, "x", "--pid", pid},
		[]string{"session", "dehydrate"}, []string{"session", "dehydrate", dir},
		[]string{"session", "restart"}, []string{"session", "restart", dir},
		[]string{"session", "phase", dir, "Phase 1"},
		update(
			"pid",
			pid,
			"4242",
		), update(
			"pidStart",
			"",
			"1",
			c.self.Start,
		), update(
			"sessionId",
			"",
			"x",
			"s1",
			"o1",
		), update(
			"skill",
			"",
			"y",
		),
		update(
			"lifecycle",
			"active",
			"dehydrating",
			"restarting",
			"resuming",
			"completed",
		), update(
			"overflowed",
			"false",
		),
		update(
			"killRequested",
			"true",
			"false",
		), update(
			"contextUsage",
			"0",
			"0.1",
			"1",
		), update(
			"startedAt",
			at,
		), update(
			"lastHeartbeat",
			at,
		),
		update("dehydratingSince", at), update("restartPrompt", "", "go on"), update("restartRefused", "", "x"),
	)
	if c.rand.IntN(8) == 0 {
		args = append(args, "--force")
	}
	return args
}

// step is something that may happen to a full session, but a fresh context.
func (c *captive) step() {
	c.t.Helper()
	usage := pick(c, 0.1, 0.8, guard.UsageUnknown)
	switch c.rand.IntN(8) {
	default:
		c.sm(c.self, usage, c.order()...)
	case 0:
		c.sm(c.other, usage, c.order()...)
	case 1:
		c.report(c.self, usage)
	case 2: // with sm run, whose restart does not come
		c.done = append(c.done, "restart")
		if err := os.WriteFile(filepath.Join(c.full, guard.DocumentFile), []byte("x"), 0o600); err != nil {
			c.t.Fatal(err)
		}
		_ = guard.AskRestart(
			c.t.Context(),
			c.full,
			c.self,
			func() error { return pick(c, nil, errors.New("no")) },
		) // a document may be too old
		if c.rand.IntN(2) == 0 {
			c.done = append(c.done, "restart refused")
			if err := guard.RestartRefused(c.proj, c.self.PID, c.self.Start, "no restart is left"); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

// report is what the status line leads to.
func (c *captive) report(client guard.Client, usage float64) {
	c.t.Helper()
	c.done = append(c.done, fmt.Sprint(client.SessionID, " reports ", usage))
	if path, _, ok := guard.Find([]string{c.proj}, client); ok {
		err := guard.Update(
			c.t.Context(),
			path,
			func(s *guard.State) error { s.Report(client, usage, time.Now()); return nil },
		)
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// TestNoWayAroundTheGuard: whatever session commands an agent gives from within a client whose context is full, in
// whatever order and with whatever variables, and another one beside it, its other tool calls stay refused until its context is a fresh one; and
// then an activation lets it go.
func TestNoWayAroundTheGuard(t *testing.T) {
	t.Parallel()
	runs := 150
	steps := 12
	if testing.Short() {
		runs = 30
	}
	var ran, worked atomic.Int64
	t.Cleanup(func() { // when all runs have ended
		t.Logf("%d commands were tried in %d runs, %d commands worked", ran.Load(), runs, worked.Load())
		if worked.Load() < int64(runs*steps/4) {
			t.Errorf("only %d commands worked: nothing was tried", worked.Load())
		}
	})
	for seed := range uint64(runs) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			c := newCaptive(t, seed)
			defer func() {
				if t.Failed() {
					t.Log(strings.Join(c.done, "\n"))
				}
			}()
			c.sm(c.other, 0.1, "session", "activate", "sessions/B", "x")
			if c.sm(c.self, 0.1, "session", "activate", "sessions/A", "x") != 0 {
				t.Fatal("not activated")
			}
			c.forges = true
			if c.rand.IntN(2) == 0 {
				c.report(c.self, 0.5)
			}
			if c.rand.IntN(3) == 0 {
				c.sm(c.self, 0.5, "session", "dehydrate")
			}
			if c.rand.IntN(2) == 0 && !c.call(c.self, "Bash", map[string]string{"command": "ls"}, 0.8) {
				t.Fatal("not refused")
			}
			c.sm(c.self, 0.8, c.order()...) // the first call of a full session may be an exempt one
			for n := range steps {
				if !c.ls(c.self) {
					t.Fatalf("free after %d steps", n)
				}
				c.step()
			}
			if !c.ls(c.self) {
				t.Fatal("free at the end")
			}
			for _, line := range c.done {
				if strings.HasPrefix(line, "s1: ") {
					ran.Add(1)
				}
				if strings.HasPrefix(line, "  0 ") {
					worked.Add(1)
				}
			}
			fresh := c.self
			if c.rand.IntN(2) == 0 { // after a clear
				fresh.SessionID = "s2"
				c.fresh = true
				c.forges = false
				c.report(fresh, 0.1)
				if !c.ls(fresh) {
					t.Error("free before the activation")
				}
				if c.sm(fresh, 0.1, "session", "activate", "sessions/A", "x") != 0 {
					t.Error("not activated in a fresh context")
				}
			} else if err := guard.Resumed(
				filepath.Join(c.full, guard.StateFile),
				c.self.PID,
				c.self.Start,
			); err != nil {
				t.Error(err)
			}
			if c.ls(fresh) {
				t.Error("not free in a fresh context")
			}
		})
	}
}
