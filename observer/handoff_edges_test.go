package observer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The tests of this file are the edge cases of a handoff, with clients that obey what is typed.

func TestHandoff_Edge_AgentContinuesAfterTheCall(t *testing.T) {
	r, c, a := newHandoffRig(t)
	doc := c.doc("doc.md", "Next: CI.")
	id := a.hands(doc)
	m := r.sends("w1", "important", "Between tools.")
	if text := a.hook("PostToolUse", ""); !strings.Contains(text, "Between tools.") {
		t.Errorf("an agent at work hears %q", text)
	}
	other := r.registered("other") // others are looked at, and more than once
	before := time.Now()
	r.until("two looks have passed", func() bool { return time.Since(before) > 2*rotateEvery && r.message(other).Status == "waiting" })
	if h := r.handoffIs(id, "scheduled"); h.Waiting != "" {
		t.Errorf("%+v", h)
	}
	a.checkHeard("the turn goes on", "PostToolUse: [sm message] Between tools. #")
	r.until("the message is proven", func() bool { return r.message(m).Status == "confirmed" })
	a.ends()
	r.handoffIs(id, "confirmed")
	r.ends()
}

func TestHandoff_Edge_FileDeletedBeforeExecution(t *testing.T) {
	r, c, a := newHandoffRig(t)
	for name, spoil := range map[string]func(string) error{
		"file_gone": os.Remove, "file_empty": func(path string) error { return os.Truncate(path, 0) },
		"file_irregular": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		doc := c.doc(name+".md", "Next: CI.")
		id := a.hands(doc)
		noErrors(t, spoil(doc))
		a.ends()
		r.handoffIs(id, "failed: "+name)
		r.until("told", func() bool { return strings.Contains(strings.Join(a.heard(), "\n"), doc+" did not take place") })
		r.until("at rest", func() bool { return r.session("w1").IsIdle && r.session("w1").Queued == 0 })
		a.works("Go on.")
	}
	r.ends()
}

func TestHandoff_Edge_TheLastOfSeveralCallsWins(t *testing.T) {
	r, c, a := newHandoffRig(t)
	var ids []string
	for i := range 3 {
		ids = append(ids, a.hands(c.doc(fmt.Sprintf("doc%d.md", i), "Next: CI.")))
	}
	a.ends()
	r.handoffIs(ids[2], "confirmed")
	r.handoffIs(ids[0], "cancelled: replaced")
	r.handoffIs(ids[1], "cancelled: replaced")
	a.checkHeard("", "typed: /clear", "typed: "+resume(r.dir+"/doc2.md"))
	r.ends()
}

// TestHandoff_Edge_SessionKilledBefore: there is nobody to clear. The document is kept for
// the next session, and the agent's messages wait for that, too.
func TestHandoff_Edge_SessionKilledBefore(t *testing.T) {
	r, c, a := newHandoffRig(t)
	id := a.hands(c.doc("doc.md", "Next: CI."))
	m := r.sends("w1", "sequential", "Look at CI.")
	c.set(func() { c.dead[a.start] = true })
	r.handoffIs(id, "failed: agent_gone")
	if got := r.message(m).Status; got != "waiting" {
		t.Errorf("the message is %s", got)
	}
	if n := len(r.mail()); n != 1 {
		t.Errorf("somebody is told: %q", r.mail())
	}
	r.until("the document is kept", func() bool { all, _ := r.o.Handoff.Documents.List(time.Now()); return len(all) == 1 })
	b := c.hire("w1", 7)
	b.starts("startup")
	b.works("Go on.")
	b.ends()
	if heard := strings.Join(b.heard(), "\n"); !strings.Contains(heard, "HANDOFF LOADED") || !strings.Contains(heard, "Look at CI.") {
		t.Errorf("the next client hears:\n%s", heard)
	}
	r.ends()
}

// TestHandoff_Edge_ObserverRestarts: a pending handoff outlives its
// observer, however that ends.
func TestHandoff_Edge_ObserverRestarts(t *testing.T) {
	for name, end := range restarts() {
		t.Run(name, func(t *testing.T) {
			r, c, a := newHandoffRig(t)
			doc := c.doc("doc.md", "Next: CI.")
			id := a.hands(doc)
			end(r)
			r.start()
			r.handoffIs(id, "scheduled")
			a.ends()
			r.handoffIs(id, "confirmed")
			a.checkHeard("", "typed: /clear", "typed: "+resume(doc))
			if s := r.session("w1"); s.LastHandoff == nil || *s.LastHandoff != doc {
				t.Errorf("%+v", s)
			}
			end(r)
			r.start()
			if s := r.session("w1"); s.LastHandoff == nil || *s.LastHandoff != doc || s.Handoff != "" {
				t.Errorf("after another restart: %+v", s)
			}
			a.checkHeard("nothing more", "typed: /clear", "typed: "+resume(doc))
			r.ends()
		})
	}
}

// TestHandoff_Edge_CutOffBeforeEnter: a text that stands at the prompt since its observer was
// killed, or tmux failed, is finished by Enter, and not typed again.
func TestHandoff_Edge_CutOffBeforeEnter(t *testing.T) {
	for name, kill := range map[string]bool{"the observer is killed": true, "tmux fails": false} {
		t.Run(name, func(t *testing.T) {
			r, c, a := newHandoffRig(t)
			doc := c.doc("doc.md", "Next: CI.")
			c.set(func() { a.cut = true })
			id := a.hands(doc)
			a.ends()
			r.until("/clear stands there", func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return a.box == "/clear"
			})
			r.handoffIs(id, "clearing")
			if kill {
				r.kill()
				r.start()
			}
			r.handoffIs(id, "confirmed")
			a.checkHeard("", "typed: /clear", "typed: "+resume(doc))
			r.ends()
		})
	}
}

// TestHandoff_Edge_HumanDraftIsLeftAlone: nothing is saved and restored, because nothing is
// typed over it. The handoff waits.
func TestHandoff_Edge_HumanDraftIsLeftAlone(t *testing.T) {
	r, c, a := newHandoffRig(t)
	c.set(func() { c.refuse = errDraft })
	doc := c.doc("doc.md", "Next: CI.")
	id := a.hands(doc)
	a.ends()
	h := r.handoffIs(id, "scheduled, waiting: unknown")
	if h.Reason != "" {
		t.Errorf("%+v", h)
	}
	a.checkHeard("nothing is typed over a draft")
	m := r.sends("w1", "urgent", "Not before the handoff.")
	before := time.Now()
	r.until("two looks have passed", func() bool { return time.Since(before) > 2*typeEvery })
	for len(c.begun) > 0 {
		if text := <-c.begun; text != "/clear" {
			t.Errorf("while the handoff waits %q is tried", text)
		}
	}
	c.set(func() { c.refuse = nil })
	r.handoffIs(id, "confirmed")
	r.until("the message follows", func() bool { return r.message(m).Status == "confirmed" })
	if diff := cmp.Diff([]string{"typed: /clear", "typed: " + resume(doc)}, a.heard()[:2]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.ends()
}

// TestHandoff_Edge_DraftAfterClear: a human who begins to type right after /clear keeps the
// prompt out. It is typed once the box is empty, and nothing else is before.
func TestHandoff_Edge_DraftAfterClear(t *testing.T) {
	r, c, a := newHandoffRig(t)
	doc := c.doc("doc.md", "Next: CI.")
	id := a.hands(doc)
	a.ends()
	<-c.begun
	c.set(func() { c.refuse = errDraft })
	r.handoffIs(id, "cleared, waiting: unknown")
	m := r.sends("w1", "urgent", "Now.")
	before := time.Now()
	r.until("two looks have passed", func() bool { return time.Since(before) > 2*typeEvery })
	if got := r.message(m).Status; got != "waiting" {
		t.Errorf("the message is %s", got)
	}
	a.checkHeard("", "typed: /clear")
	c.set(func() { c.refuse = nil })
	r.handoffIs(id, "confirmed")
	if diff := cmp.Diff([]string{"typed: /clear", "typed: " + resume(doc)}, a.heard()[:2]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.ends()
}

// TestHandoff_ADocumentWithANameForAShell: nothing that a shell would make something of is
// typed; what is told of the handoff is the document's own name.
func TestHandoff_ADocumentWithANameForAShell(t *testing.T) {
	r, c, a := newHandoffRig(t)
	doc := c.doc("a;touch $(x).md", "Next: CI.")
	id := a.hands(doc)
	a.ends()
	r.handoffIs(id, "confirmed")
	plain := filepath.Join(r.dir, "handoff", "sm-read-"+id+".md")
	if got := strings.Join(a.heard(), "\n"); !strings.Contains(got, "typed: "+resume(plain)) || strings.Contains(got, "touch") {
		t.Errorf("heard %s", got)
	}
	if text, err := os.ReadFile(plain); err != nil || string(text) != "Next: CI." {
		t.Errorf("%q, %v", text, err)
	}
	if s := r.session("w1"); s.LastHandoff == nil || *s.LastHandoff != doc {
		t.Errorf("%+v", s)
	}
	r.ends()
}
