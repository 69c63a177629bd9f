package observer

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/observer/fleet"
)

// The tests of this file are complete handoffs with clients that obey typed text;
// handoff_edges_test.go has the edge cases. The output of the command line is tested by
// cmd/sm/testdata/script/handoff.txtar.

// newHandoffRig returns an observer with an agent "w1" in a pane, at work on its first
// prompt.
func newHandoffRig(t *testing.T) (*rig, *fakeClients, *fakeClient) {
	c := newFakeClients(t)
	c.r.start()
	a := c.newPane("w1", 3)
	a.works("Go.")
	return c.r, c, a
}

func (a *fakeClient) checkReceived(what string, want ...string) {
	a.terminal.r.t.Helper()
	if diff := cmp.Diff(want, a.log()); diff != "" {
		a.terminal.r.t.Errorf("%s: %s (-want +got):\n%s", a.agent, what, diff)
	}
}

// resume returns the prompt for a document.
func resume(path string) string { return "Read " + path + " and continue from where you left off." }

func TestHandoff_HappyPath(t *testing.T) {
	t.Parallel()
	r, c, a := newHandoffRig(t)
	first := a.session
	doc := c.doc("doc.md", "Next: CI.\n")
	id := a.hands(doc)
	if s := r.session("w1"); s.Handoff != "scheduled" || s.LastHandoff != nil {
		t.Errorf("once scheduled: %q, %v", s.Handoff, s.LastHandoff)
	}
	a.ends()
	h := r.handoffIs(id, "confirmed")
	a.checkReceived("the new context reads the document", "typed: /clear", "typed: "+resume(doc))
	s := r.session("w1")
	if s.ID != "w1" || s.Pane != "%3" || s.SessionID != a.session || a.session == first ||
		s.Handoff != "" ||
		s.LastHandoff == nil ||
		*s.LastHandoff != doc {
		t.Errorf("got %+v", s)
	}
	if h.Path != doc || h.Way != "clear" || h.SessionID != first ||
		h.NextSession != a.session ||
		h.Document == "" {
		t.Errorf("got %+v", h)
	}
	if n := r.scrape()[`sm_handoffs_total{outcome="confirmed"}`]; n != 1 {
		t.Errorf("got %v handoffs in the metrics", n)
	}
	r.ends()
}

func TestHandoff_SelfOnly(t *testing.T) {
	t.Parallel()
	r, c, a := newHandoffRig(t)
	other := c.newPane("w2", 4)
	// This client was started by w1: it inherits the name and is another agent.
	nested := c.newClient("w1", 5)
	nested.sessions, nested.session = 1, uuid(501)
	nested.rests("busy")
	nested.hook("SessionStart", `,"source":"startup"`)
	r.until(
		"the nested client is known",
		func() bool {
			return strings.Contains(
				r.ask(http.MethodGet, "/sessions", "").Body,
				nested.session,
			)
		},
	)
	doc := c.doc("doc.md", "Next: CI.")
	self := fleet.Process{PID: os.Getpid(), Start: a.start}
	for _, tt := range []struct {
		name              string
		target, requester string
		line              []fleet.Process
		code              int
	}{
		{"for another agent", "w1", "w2", []fleet.Process{{
			PID:   os.Getpid(),
			Start: other.start,
		}}, 403},
		{"another agent with this name", "w1", "w1", []fleet.Process{{
			PID:   os.Getpid(),
			Start: other.start,
		}}, 403},
		{"a process outside of clients", "w1", "w1", []fleet.Process{{
			PID:   4711,
			Start: "1",
		}}, 403},
		{"a process without known ancestors", "w1", "w1", []fleet.Process{}, 403},
		{"a nested client for its host", "w1", "w1", []fleet.Process{{
			PID:   4712,
			Start: "2",
		}, {
			PID:   os.Getpid(),
			Start: nested.start,
		}, self}, 403},
		{"an unknown requester", "w1", "nobody", []fleet.Process{self}, 403},
		{"by its session's id", a.session, "w1", []fleet.Process{{
			PID:   4713,
			Start: "3",
		}, self}, 200},
		{"the agent itself, from a descendant", "w1", "w1", []fleet.Process{{
			PID:   4714,
			Start: "4",
		}, {
			PID:   4715,
			Start: "5",
		}, self}, 200},
	} {
		c.set(func() { c.line = tt.line })
		x := r.asksHandoff(tt.target, tt.requester, doc)
		if x.Code != tt.code ||
			tt.code == 403 &&
				!strings.Contains(x.Body, "an agent hands over for itself alone") {
			t.Errorf("%s: %d %s", tt.name, x.Code, x.Body)
		}
	}
	if n := r.scrape()[`sm_handoffs_total{outcome="refused"}`]; n != 6 {
		t.Errorf("got %v refusals in the metrics", n)
	}
	r.ends()
}

func TestHandoff_Codex_GetsNew(t *testing.T) {
	t.Parallel()
	c := newFakeClients(t)
	c.r.start()
	a := c.newClient("cx", 3)
	a.provider = "codex"
	a.starts("startup")
	a.works("Go.")
	doc := c.doc("doc.md", "Next: CI.")
	id := a.hands(doc)
	a.ends()
	if h := c.r.handoffIs(id, "confirmed"); h.Way != "new" {
		t.Errorf("got %+v", h)
	}
	a.checkReceived("", "typed: /new", "typed: "+resume(doc))
	c.r.ends()
}

// TestHandoff_QueuedMessages tests that waiting messages follow after the handoff, and that
// nothing is typed between /clear and the prompt.
func TestHandoff_QueuedMessages(t *testing.T) {
	t.Parallel()
	r, c, a := newHandoffRig(t)
	doc := c.doc("doc.md", "Next: CI.")
	id := a.hands(doc)
	r.sends("w1", "sequential", "Look at CI.")
	nap := make(chan struct{})
	c.set(func() { a.nap = nap })
	a.ends()
	if text := <-c.begun; text != "/clear" {
		t.Fatalf("got %q typed first", text)
	}
	for _, mode := range []string{
		"urgent",
		"important",
		"sequential",
	} { // while /clear is being typed
		r.sends("w1", mode, mode)
	}
	c.set(func() { a.nap = nil })
	close(nap)
	r.handoffIs(id, "confirmed")
	said := func(text string) int {
		return strings.Count(
			strings.Join(a.log(), "\n"),
			"[sm message] "+text+" #",
		)
	}
	for _, text := range []string{"Look at CI.", "urgent", "important", "sequential"} {
		r.until(text+" is received", func() bool { return said(text) > 0 })
	}
	got := a.log()
	if diff := cmp.Diff(
		[]string{"typed: /clear", "typed: " + resume(doc)},
		got[:2],
	); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	for _, text := range []string{"Look at CI.", "urgent", "important", "sequential"} {
		if n := said(text); n != 1 {
			t.Errorf("%q is received %d times: %q", text, n, got)
		}
	}
	r.ends()
}

// TestHandoff_FailureRecovery tests a document that is deleted after the call. The agent
// keeps its context, gets its messages, and is notified.
func TestHandoff_FailureRecovery(t *testing.T) {
	t.Parallel()
	r, c, a := newHandoffRig(t)
	doc := c.doc("doc.md", "Next: CI.")
	id := a.hands(doc)
	m := r.sends("w1", "sequential", "Look at CI.")
	noErrors(t, os.Remove(doc))
	left := a.session
	a.ends()
	r.handoffIs(id, "failed: file_gone")
	r.until("the message is received", func() bool { return r.message(m).Status == "confirmed" })
	r.until("the agent is notified", func() bool {
		return strings.Contains(
			strings.Join(a.log(), "\n"),
			"[sm handoff] The handoff with "+doc+" did not take place: file gone. Your context is as it was. Call sm handoff again once that is mended. #",
		)
	})
	if got := strings.Join(
		a.log(),
		"\n",
	); strings.Contains(got, "/clear") ||
		a.session != left {
		t.Errorf("received %s", got)
	}
	if s := r.session("w1"); s.LastHandoff != nil || s.Cycle != 1 {
		t.Errorf("got %+v", s)
	}
	// Another call works at once.
	a.works("Again.")
	noErrors(t, os.WriteFile(doc, []byte("Next: CI."), 0o600))
	again := a.hands(doc)
	a.ends()
	r.handoffIs(again, "confirmed")
	r.ends()
}
