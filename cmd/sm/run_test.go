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

	"sm/cmd/internal/caller"
	"sm/handoff/files"
	"sm/handoff/proc"
)

// TestRunPassesSignals tests that the client gets signals and that its exit code is returned.
// There is no terminal to send SIGINT.
func TestRunPassesSignals(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"SIGTERM": 143,
		"SIGHUP":  129,
		"SIGQUIT": 131,
		"SIGINT":  130,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunRig(t)
			r.client()
			r.signal(map[string]syscall.Signal{
				"SIGTERM": 15,
				"SIGHUP":  1,
				"SIGQUIT": 3,
				"SIGINT":  2,
			}[name])
			if got := r.code(); got != want {
				t.Errorf("got %d, want %d", got, want)
			}
			if got := len(r.events(name)); got != 1 {
				t.Errorf("the client got %s %d times", name, got)
			}
			if got := len(r.events("start")); got != 1 {
				t.Errorf("started %d times", got)
			}
			r.noneLeft()
		})
	}
}

// TestRunLeavesNoProcess tests that all that a client has started ends with it, also in other
// process groups and sessions; only processes that left its family before continue, as a
// daemon does.
func TestRunLeavesNoProcess(t *testing.T) {
	t.Parallel()
	family := []string{
		"spawn exec sleep 1000",
		"spawn exec setsid sleep 1000",
		"spawn sleep 1000 & wait",
		"spawn trap '' TERM HUP; sleep 1000 & sleep 1000",
		"spawn setsid sh -c 'sleep 1000 & sleep 1000'",
		"call sleep 1000 >/dev/null 2>&1 &", // its parent has ended, but it is in the process group
	}
	for _, c := range []struct{ name, end string }{
		{"ends", "exit 5"},
		{"is killed", "kill 9"},
		{"is restarted", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRunRig(t)
			first := r.client()
			daemon := 0
			if c.end == "" {
				r.order("call setsid sleep 1000 >/dev/null 2>&1 & echo $! >$" + runClientDir + "/daemon")
				text, err := os.ReadFile(filepath.Join(r.dir, "daemon"))
				if daemon, _ = strconv.Atoi(strings.TrimSpace(string(text))); err != nil ||
					!proc.Alive(daemon, "") {
					t.Fatal("no daemon: ", err)
				}
				r.until(
					"the daemon leaves",
					func() bool {
						p, err := proc.Stat(
							"/proc",
							daemon,
						)
						return err == nil &&
							p.Name == "sleep"
					},
				)
			}
			for _, order := range family {
				r.order(order)
			}
			r.until("all run", func() bool { return len(r.census()) >= 3+9 })
			if c.end != "" {
				r.order(c.end)
			} else {
				r.signal(syscall.SIGUSR1)
				second := r.wait("start", 2)
				r.noneLeft(r.cmd.Process.Pid, r.guardian(), second.PID, daemon)
				r.order("exit 5")
			}
			if want := map[string]int{"kill 9": 137}[c.end]; r.code() != max(want, 5) {
				t.Errorf("code %d", r.code())
			}
			r.noneLeft(daemon)
			if daemon != 0 && !proc.Alive(daemon, "") {
				t.Error("the daemon has ended")
			}
			if proc.Alive(first.PID, "") {
				t.Error("the first client still runs")
			}
		})
	}
}

// runKills is the default number of kills.
const runKills = 12

// TestRunKilledLeavesNoProcess tests that nothing is left when a run is killed at a random
// moment while its client, which has started others in separate sessions, is restarted:
// alone, with its process group, or by the end of its guardian. SM_KILLS_RUN is the number of
// kills.
func TestRunKilledLeavesNoProcess(t *testing.T) {
	t.Parallel()
	if !files.IsDir("/proc/self") {
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
			r.until("all run", func() bool { return len(r.census()) >= 3+5 })
			guardian := r.guardian()
			if i%4 != 3 {
				r.signal(syscall.SIGUSR1)
			}
			<-time.After(rand.N(1600 * time.Millisecond)) // a random moment
			pid := map[string]int{
				"the run":      r.cmd.Process.Pid,
				"its group":    -r.cmd.Process.Pid,
				"its guardian": guardian,
			}[way]
			noErrors(t, syscall.Kill(pid, syscall.SIGKILL))
			<-r.exited
			r.until(
				"all have ended",
				func() bool { return len(r.census()) == 0 && !proc.Alive(guardian, "") },
			)
		})
	}
}

// guardian returns the process between the run and its client.
func (r *runRig) guardian() int {
	r.t.Helper()
	for _, pid := range childrenOf(r.cmd.Process.Pid) {
		if caller.IsGuardian(pid) {
			return pid
		}
	}
	r.t.Fatal("no guardian")
	return 0
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
