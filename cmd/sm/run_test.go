package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/cmd/internal/caller"
	"sm/handoff/proc"
	"sm/observer/api"
)

func TestRunExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		order string
		want  int
	}{
		{"exit 0", 0}, {"exit 1", 1}, {"exit 130", 130}, {"exit 143", 143}, {"exit 255", 255},
		{"kill 9", 137},
	} {
		t.Run(c.order, func(t *testing.T) {
			t.Parallel()
			r := newRunRig(t)
			r.client()
			r.order(c.order)
			if got := r.code(); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
			if got := len(r.events("start")); got != 1 {
				t.Errorf("started %d times", got)
			}
			r.nobody()
		})
	}
}

func TestRunKilledClient(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"INT": 130, "USR1": 138, "TERM": 143, "KILL": 137} {
		r := newRunRig(t)
		r.start("--", "sh", "-c", "kill -"+name+" $$")
		if got := r.code(); got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
}

func TestRunRefusesToStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		vars []string
		args []string
		code int
		want string
	}{
		{"no command", nil, nil, 2, "sm: no client to run: give one, as in 'sm run -- claude'; see 'sm --help'\n"},
		{
			"only a dash",
			nil,
			[]string{"--name", "a", "--"},
			2,
			"sm: no client to run: give one, as in 'sm run -- claude'; see 'sm --help'\n",
		},
		{
			"not found",
			nil,
			[]string{"--", "no-such-client"},
			127,
			"sm: run no-such-client: no such program; look at its name and at PATH\n",
		},
		{
			"no such path",
			nil,
			[]string{"--", dir + "/none"},
			127,
			"sm: run " + dir + "/none: no such program; look at its name and at PATH\n",
		},
		{
			"not executable",
			nil,
			[]string{"--", plain},
			126,
			"sm: run " + plain + ": permission denied; give a program that this user may run\n",
		},
		{
			"a directory",
			nil,
			[]string{"--", dir},
			126,
			"sm: run " + dir + ": is a directory; give a program that this user may run\n",
		},
		{"a name of two words", nil, []string{"--name", "a b", "--", runClientName}, 2,
			"sm: --name \"a b\" is not one word of at most 128 bytes: give another; see 'sm --help'\n"},
		{
			"its own parent",
			nil,
			[]string{"--name", "a", "--parent", "a", "--", runClientName},
			2,
			"sm: --parent is the agent itself: name another; see 'sm --help'\n",
		},
		{"a bad setting", []string{"SM_SUPERVISE_RESTARTS=-1"}, []string{"--", runClientName}, 2,
			"sm: SM_SUPERVISE_RESTARTS: supervise.restarts must be at least 0, not -1\n"},
		{
			"an unknown flag",
			nil,
			[]string{"--resume", "--", runClientName},
			2,
			"sm: unknown flag: --resume; see 'sm --help'\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRunRig(t, c.vars...)
			r.start(c.args...)
			if got := r.code(); got != c.code {
				t.Errorf("code %d, want %d", got, c.code)
			}
			if diff := cmp.Diff(c.want, r.stderr.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(r.events("start")) > 0 {
				t.Error("the client was started")
			}
		})
	}
}

// seatOf are the variables that `sm run` decides on.
func seatOf(e runEvent) map[string]string {
	vars := map[string]string{}
	for _, name := range []string{
		"CLAUDE_SESSION_MANAGER_ID", "SM_PARENT_ID", "SM_NAME", "SM_PROVIDER", "CLAUDE_SUPERVISOR_PID", "CLAUDE_PID", "CLAUDE_CODE_SESSION_ID",
	} {
		if value, ok := e.Env[name]; ok {
			vars[name] = value
		}
	}
	return vars
}

func TestRunEnvironment(t *testing.T) {
	t.Parallel()
	agent := []string{
		"CLAUDE_SESSION_MANAGER_ID=boss",
		"SM_PARENT_ID=root",
		"SM_NAME=boss",
		"SM_PROVIDER=codex",
		"CLAUDE_PID=12",
		"CLAUDE_CODE_SESSION_ID=x",
	}
	for _, c := range []struct {
		name string
		vars []string
		args []string
		want map[string]string // the id is * when it is a new one
	}{
		{"by a human", nil, nil, map[string]string{"CLAUDE_SESSION_MANAGER_ID": "*", "SM_PROVIDER": "claude"}},
		{
			"with a name",
			nil,
			[]string{"--name", "em"},
			map[string]string{"CLAUDE_SESSION_MANAGER_ID": "em", "SM_NAME": "em", "SM_PROVIDER": "claude"},
		},
		{
			"by an agent",
			agent,
			nil,
			map[string]string{"CLAUDE_SESSION_MANAGER_ID": "*", "SM_PARENT_ID": "boss", "SM_PROVIDER": "claude"},
		},
		{"for another", agent, []string{"--parent", "em", "--provider", "codex"},
			map[string]string{"CLAUDE_SESSION_MANAGER_ID": "*", "SM_PARENT_ID": "em", "SM_PROVIDER": "codex"}},
		{"again by its own name", agent, []string{"--name", "boss"},
			map[string]string{
				"CLAUDE_SESSION_MANAGER_ID": "boss",
				"SM_PARENT_ID":              "root",
				"SM_NAME":                   "boss",
				"SM_PROVIDER":               "claude",
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRunRig(t, c.vars...)
			r.start(append(c.args, "--", runClientName, "--model", "opus", "Fix it.")...)
			e := r.wait("start", 1)
			got := seatOf(e)
			if id := got["CLAUDE_SESSION_MANAGER_ID"]; c.want["CLAUDE_SESSION_MANAGER_ID"] == "*" && len(id) == 16 {
				got["CLAUDE_SESSION_MANAGER_ID"] = "*"
			}
			c.want["CLAUDE_SUPERVISOR_PID"] = strconv.Itoa(r.cmd.Process.Pid)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(
				[]string{runClientName, "--model", "opus", "Fix it."},
				e.Argv,
			); diff != "" ||
				e.Parent != r.cmd.Process.Pid {
				t.Errorf("child of %d (-want +got):\n%s", e.Parent, diff)
			}
		})
	}
}

// TestRunSocket: the client's hooks find the observer that this run was given.
func TestRunSocket(t *testing.T) {
	t.Parallel()
	r := newRunRig(t, "SM_SOCKET=/nowhere")
	o := r.observer()
	r.start("--socket", r.socket(), "--name", "em=", "--", runClientName)
	if got := r.wait("start", 1).Env; got["SM_SOCKET"] != r.socket() || got["CLAUDE_SESSION_MANAGER_ID"] != "em=" {
		t.Errorf("got %q", got)
	}
	o.heard(r, "a question", func(api.Run) bool { return true })
	if o.agent != "em=" {
		t.Errorf("the question is of %q", o.agent)
	}
}

func TestRunInsideRun(t *testing.T) {
	t.Parallel()
	r := newRunRig(t)
	r.start("--name", "outer", "--", "sm", "run", "--name", "inner", "--", runClientName)
	e := r.wait("start", 1)
	want := map[string]string{
		"CLAUDE_SESSION_MANAGER_ID": "inner", "SM_NAME": "inner", "SM_PARENT_ID": "outer", "SM_PROVIDER": "claude",
		"CLAUDE_SUPERVISOR_PID": strconv.Itoa(e.Parent),
	}
	if diff := cmp.Diff(want, seatOf(e)); diff != "" || e.Parent == r.cmd.Process.Pid {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Each supervises its own client: the inner one restarts it, the outer one passes a signal on.
	if err := syscall.Kill(e.Parent, syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if again := r.wait("start", 2); again.Parent != e.Parent {
		t.Errorf("the second client is a child of %d, the first was of %d", again.Parent, e.Parent)
	}
	r.signal(syscall.SIGTERM)
	if got := r.code(); got != 143 {
		t.Errorf("got %d", got)
	}
	r.nobody()
}

// TestRunPassesSignals: the client gets them, and its exit code is returned. There is no terminal to send SIGINT.
func TestRunPassesSignals(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"SIGTERM": 143, "SIGHUP": 129, "SIGQUIT": 131, "SIGINT": 130} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunRig(t)
			r.client()
			r.signal(map[string]syscall.Signal{"SIGTERM": 15, "SIGHUP": 1, "SIGQUIT": 3, "SIGINT": 2}[name])
			if got := r.code(); got != want {
				t.Errorf("got %d, want %d", got, want)
			}
			if got := len(r.events(name)); got != 1 {
				t.Errorf("the client has heard %s %d times", name, got)
			}
			if got := len(r.events("start")); got != 1 {
				t.Errorf("started %d times", got)
			}
			r.nobody()
		})
	}
}

// TestRunLeavesNobody: what a client has started ends with it, in groups and sessions of its own too; only what had left
// its family before goes on, as a daemon does.
func TestRunLeavesNobody(t *testing.T) {
	t.Parallel()
	family := []string{
		"spawn exec sleep 1000",
		"spawn exec setsid sleep 1000",
		"spawn sleep 1000 & wait",
		"spawn trap '' TERM HUP; sleep 1000 & sleep 1000",
		"spawn setsid sh -c 'sleep 1000 & sleep 1000'",
		"call sleep 1000 >/dev/null 2>&1 &", // its parent has ended, but it is in our group
	}
	for _, c := range []struct{ name, end string }{{"ends", "exit 5"}, {"is killed", "kill 9"}, {"is restarted", ""}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRunRig(t)
			first := r.client()
			daemon := 0
			if c.end == "" {
				r.order("call setsid sleep 1000 >/dev/null 2>&1 & echo $! >$" + runClientDir + "/daemon")
				text, err := os.ReadFile(filepath.Join(r.dir, "daemon"))
				if daemon, _ = strconv.Atoi(strings.TrimSpace(string(text))); err != nil || !proc.Alive(daemon, "") {
					t.Fatal("no daemon: ", err)
				}
				r.until(
					"the daemon leaves",
					func() bool { p, err := proc.Stat("/proc", daemon); return err == nil && p.Name == "sleep" },
				)
			}
			for _, order := range family {
				r.order(order)
			}
			r.until("all run", func() bool { return len(r.census()) >= 2+9 })
			if c.end != "" {
				r.order(c.end)
			} else {
				r.signal(syscall.SIGUSR1)
				second := r.wait("start", 2)
				r.nobody(r.cmd.Process.Pid, second.PID, daemon)
				r.order("exit 5")
			}
			if want := map[string]int{"kill 9": 137}[c.end]; r.code() != max(want, 5) {
				t.Errorf("code %d", r.code())
			}
			r.nobody(daemon)
			if daemon != 0 && !proc.Alive(daemon, "") {
				t.Error("the daemon has ended")
			}
			if proc.Alive(first.PID, "") {
				t.Error("the first client lives")
			}
		})
	}
}

func TestRunKilledLeavesNoClient(t *testing.T) {
	t.Parallel()
	if !isDir("/proc/self") {
		t.Skip("needs Linux")
	}
	r := newRunRig(t)
	r.client()
	r.order("deaf")
	r.signal(syscall.SIGUSR1) // even one that is being ended
	r.wait("SIGTERM", 1)
	r.signal(syscall.SIGKILL)
	<-r.exited
	r.until("the client ends", func() bool { return len(r.census()) == 0 })
}

// runKills is how often a run is killed by default.
const runKills = 12

// TestRunKilledLeavesNobody: a run is killed at a random moment while its client, which has started others in sessions
// of their own, is restarted; by itself, together with its whole process group, or by the end of its guardian. Nothing
// is left. SM_KILLS_RUN says how often.
func TestRunKilledLeavesNobody(t *testing.T) {
	t.Parallel()
	if !isDir("/proc/self") {
		t.Skip("needs Linux")
	}
	ways := []string{"the run", "its group", "its guardian"}
	for i := range killsOf(t, "SM_KILLS_RUN", runKills) {
		way := ways[i%len(ways)]
		t.Run(fmt.Sprintf("%s, %d", way, i), func(t *testing.T) {
			t.Parallel()
			r := newRunRig(t)
			r.client()
			for _, order := range []string{
				"spawn exec setsid sleep 1000", "spawn setsid sh -c 'trap \"\" TERM HUP; sleep 1000 & sleep 1000'",
				"spawn trap '' TERM HUP; sleep 1000 & sleep 1000",
			} {
				r.order(order)
			}
			r.until("all run", func() bool { return len(r.census()) >= 2+5 })
			guardian := 0
			for _, pid := range childrenOf(r.cmd.Process.Pid) {
				if caller.IsGuardian(pid, "/proc") {
					guardian = pid
				}
			}
			if guardian == 0 {
				t.Fatal("no guardian")
			}
			if i%4 != 3 {
				r.signal(syscall.SIGUSR1)
			}
			<-time.After(rand.N(1600 * time.Millisecond)) // the moment is what is tried
			pid := map[string]int{
				"the run":      r.cmd.Process.Pid,
				"its group":    -r.cmd.Process.Pid,
				"its guardian": guardian,
			}[way]
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			<-r.exited
			r.until("all have ended", func() bool { return len(r.census()) == 0 && !proc.Alive(guardian, "") })
		})
	}
}

func childrenOf(parent int) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range all {
		pid, _ := strconv.Atoi(filepath.Base(path))
		if p, err := proc.Stat("/proc", pid); err == nil && p.Parent == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}
