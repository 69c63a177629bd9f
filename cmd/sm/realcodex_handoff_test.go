//go:build realclient

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"sm/observer/api"
)

// tool makes the agent run a command as the only tool call of a turn.
func (r *codexRun) tool(what, command string) {
	r.t.Helper()
	r.prompt(modelStep{grow: 100, tools: 1, bash: command}, modelStep{grow: 100})
	r.ended(what)
}

// program returns a command line of sm as agents use it.
func (r *codexRun) program(args ...string) string {
	return "SM_SOCKET=" + r.sm.socket() + " " + r.sm.bin + " " + strings.Join(args, " ")
}

// goesOn checks that the agent is the same in its new thread, and that it gets the prompt to
// read the document once.
func (r *codexRun) goesOn(before api.Session, doc string) {
	r.t.Helper()
	var now api.Session
	eventually(r.t, "the agent is in its new thread", func() string {
		for _, s := range r.sm.byID() {
			if s.ID == before.ID && s.SessionID != before.SessionID && s.TokensUsed != nil {
				now = s
				return ""
			}
		}
		return fmt.Sprintf("%+v", r.sm.byID())
	})
	if now.Label != before.Label || now.Cycle != before.Cycle+1 {
		r.t.Errorf("agent before %+v, now %+v", before, now)
	}
	if n := r.home.records(
		`"type":"UserMessage"`,
		"Read "+doc+" and continue from where you left off.",
	); n != 1 {
		r.t.Errorf("the prompt to read %s: got %d, want 1", doc, n)
	}
	r.current = now.SessionID
	r.rests()
}

// agent returns what the observer shows of the agent in the present thread.
func (r *codexRun) agent() api.Session {
	r.t.Helper()
	return r.sm.byID()[r.current]
}

// settledAgent returns the agent once the observer knows its pane, which is its id.
func (r *codexRun) settledAgent() (s api.Session) {
	r.t.Helper()
	eventually(r.t, "the client's process is known", func() string {
		if s = r.agent(); s.Pane == "" {
			return fmt.Sprintf("%+v", s)
		}
		return ""
	})
	return s
}

// TestRealCodexHandoffClear tests a handoff in tmux: the agent's context is cleared by
// /clear, and the same agent reads the document in the new thread. Waiting messages follow.
// The second handoff survives a kill of the observer.
func TestRealCodexHandoffClear(t *testing.T) {
	r := newCodexRun(t)
	r.begin()
	r.turn("the first turn", modelStep{grow: 50_000})
	before := r.settledAgent()
	doc := filepath.Join(r.home.project, "doc.md")
	for i := range 2 {
		r.tool(
			"the handoff",
			fmt.Sprintf("echo work %d > %s && %s", i, doc, r.program("handoff", doc)),
		)
		if i == 1 { // the handoff is under way
			r.sm.kill()
			r.sm.start()
		}
		id := r.sends(before.ID, fmt.Sprintf("After handoff %d.", i))
		if h := r.sm.handoffIs("confirmed"); h.Way != "clear" ||
			h.SessionID != before.SessionID {
			t.Errorf("got %+v", h)
		}
		r.goesOn(before, doc)
		r.received(before.ID, id)
		doc = filepath.Join(r.home.project, fmt.Sprintf("doc%d.md", i))
		before = r.agent()
	}
	eventually(t, "the figures", r.wrong)
}

// TestRealCodexHandoffRestart tests that under sm run the client is restarted with the
// prompt, even if the observer is killed meanwhile, and that the agent keeps its name.
func TestRealCodexHandoffRestart(t *testing.T) {
	r := newCodexRun(t)
	r.home.wrapper = []string{
		r.sm.bin,
		"--socket",
		r.sm.socket(),
		"run",
		"--name",
		"worker",
		"--",
	}
	r.begin()
	r.turn("the first turn", modelStep{grow: 50_000})
	before := r.settledAgent()
	if before.ID != "worker" || before.Name != "worker" || before.Client != "codex" {
		t.Errorf("got %+v", before)
	}
	doc := filepath.Join(r.home.project, "doc.md")
	r.tool("the handoff", "echo work > "+doc+" && "+r.program("handoff", doc))
	r.sm.kill()
	r.sm.start()
	if h := r.sm.handoffIs("confirmed"); h.Way != "restart" {
		t.Errorf("got %+v", h)
	}
	r.goesOn(before, doc)
	r.home.pid = r.home.native()
	r.received("worker", r.sends("worker", "After the handoff."))
	r.home.quit()
}
