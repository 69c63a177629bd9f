//go:build realclient

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sm/deploy/doctor"
)

// daemons returns the processes that the client has left running for all its terminals.
func (h *codexHome) daemons() (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		environ, _ := os.ReadFile(dir + "/environ") // it may have ended, or belong to another user
		argv, _ := os.ReadFile(dir + "/cmdline")
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil &&
			bytes.Contains(environ, []byte("CODEX_HOME="+h.codex+"\x00")) &&
			(bytes.Contains(argv, []byte("app-server")) ||
				bytes.Contains(argv, []byte("pid-update-loop"))) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// endDaemons ends them.
func (h *codexHome) endDaemons() {
	h.t.Helper()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		for deadline := time.Now().Add(20 * time.Second); len(h.daemons()) > 0 &&
			time.Now().Before(deadline); <-time.After(time.Second) {
			for _, pid := range h.daemons() {
				if err := syscall.Kill(
					pid,
					signal,
				); err != nil &&
					!errors.Is(err, syscall.ESRCH) {
					h.t.Error(err)
				}
			}
		}
	}
	if left := h.daemons(); len(left) > 0 {
		h.t.Errorf("%v cannot be ended", left)
	}
}

// beside returns another terminal of the same home, in a private tmux server.
func (h *codexHome) beside() *codexHome {
	c := *h.clientHome
	c.socket += "2"
	h.t.Cleanup(func() { _, _ = c.command("", "kill-server") }) // there may be none
	return &codexHome{clientHome: &c, stub: h.stub, codex: h.codex}
}

// TestRealCodexDaemon tests that threads of clients with a shared daemon are followed, and
// that hooks and messages work as for others. The terminal of a thread is unknown, though its
// hooks and tools name one: nothing is typed, and a handoff is refused.
func TestRealCodexDaemon(t *testing.T) {
	r := newCodexRun(t)
	first := r.home
	first.args = nil
	t.Cleanup(first.endDaemons)
	r.installs()
	first.start()
	eventually(t, "the hooks are trusted", func() string {
		first.trusts()
		if status, text := r.diagnosis(); status != doctor.Healthy {
			return text
		}
		return ""
	})
	if len(first.daemons()) == 0 {
		t.Fatal("the client has no daemon")
	}
	r.current = first.status().Session
	r.turn("the first turn", modelStep{grow: 50_000})
	r.settled()
	r.turn("tools", modelStep{
		grow:  1000,
		tools: 1,
		bash:  "env >" + first.dir + "/tool",
	}, modelStep{
		grow: 1000,
	})
	r.settled()
	r.compact("/compact")
	r.turn("after /compact", modelStep{grow: 900, tools: 1}, modelStep{grow: 300})
	one := r.current

	// The daemon has the variables of the first terminal for the threads of the second.
	second := first.beside()
	r.home = second
	r.begin()
	r.turn("the second terminal", modelStep{
		grow:  1000,
		tools: 1,
		bash:  "env >" + first.dir + "/tool2",
	}, modelStep{
		grow: 1000,
	})
	two := r.current
	tool, _ := os.ReadFile(first.dir + "/tool2")
	if !strings.Contains(string(tool), "TMUX="+first.socket+",") ||
		strings.Contains(string(tool), "TMUX="+second.socket+",") {
		t.Errorf(
			"the second terminal's tools do not see the first one: the test shows nothing any more:\n%s",
			tool,
		)
	}
	r.unseated(one, two)
	if n, m := r.hooks("UserPromptSubmit"), r.hooks("Stop"); n != 4 || m != 4 {
		t.Errorf("got hooks of %d prompts and %d ends of turns, want 4 and 4", n, m)
	}

	r.kills = 4
	for i, thread := range []string{one, two, one, two} {
		id := r.sends(thread, fmt.Sprintf("Message %d.", i))
		r.killed()
		r.received(thread, id)
	}
	r.unseated(one, two)

	doc := filepath.Join(first.project, "doc.md")
	out := filepath.Join(first.dir, "out")
	r.tool("the handoff", "echo work >"+doc+" && "+r.program("handoff", doc)+" >"+out+" 2>&1")
	if text, _ := os.ReadFile(out); !strings.Contains(
		string(text),
		"open in Codex's daemon",
	) ||
		!strings.Contains(string(text), "codex --no-daemon") {
		t.Errorf("a handoff is answered %q", text)
	}
	if all, err := r.sm.api.Handoffs(t.Context()); err != nil || len(all.Handoffs) != 0 {
		t.Errorf("got %+v, %v", all, err)
	}
	r.agree("the second terminal, at the end")
	second.quit()
	r.received(two, r.sends(two, "The terminal is closed."))
	r.home = first
	r.agree("the first terminal, at the end")
	first.quit()
	eventually(t, "the figures", r.wrong)
	t.Logf(
		"FIGURES: %d displays of the client agree; 5 messages by the queue, each received once",
		r.shown,
	)
}

// unseated checks that the observer knows the agents of these threads by their hooks, and no
// terminal.
func (r *codexRun) unseated(threads ...string) {
	r.t.Helper()
	all := r.sm.byID()
	for _, id := range threads {
		if s := all[id]; s.ID != id || s.Pane != "" || s.TmuxSocket != "" || !s.HooksSeen {
			r.t.Errorf("a thread behind the daemon: %+v", s)
		}
	}
}
