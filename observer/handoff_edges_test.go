package observer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tests of this file are the edge cases of a handoff, with clients that obey typed text.

// TestHandoff_Edge_HumanDraftIsLeftAlone tests that a handoff waits while a human's draft is
// in the box: nothing is typed over it.
func TestHandoff_Edge_HumanDraftIsLeftAlone(t *testing.T) {
	t.Parallel()
	r, c, a := newHandoffRig(t)
	c.set(func() { c.refuse = errDraft })
	doc := c.doc("doc.md", "Next: CI.")
	id := a.hands(doc)
	a.ends()
	h := r.handoffIs(id, "scheduled, waiting: draft")
	if h.Reason != "" {
		t.Errorf("got %+v", h)
	}
	a.checkReceived("nothing is typed over a draft")
	m := r.sends("w1", "urgent", "Not before the handoff.")
	c.set(func() { c.refuse = nil })
	r.handoffIs(id, "confirmed")
	r.until("the message follows", func() bool { return r.message(m).Status == "confirmed" })
	if diff := cmp.Diff(
		[]string{"typed: /clear", "typed: " + resume(doc)},
		a.log()[:2],
	); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.ends()
}

// TestHandoff_ADocumentWithANameForAShell tests that characters with a meaning in a shell are
// not typed, and that the handoff is listed with the document's own name.
func TestHandoff_ADocumentWithANameForAShell(t *testing.T) {
	t.Parallel()
	r, c, a := newHandoffRig(t)
	doc := c.doc("a;touch $(x).md", "Next: CI.")
	id := a.hands(doc)
	a.ends()
	r.handoffIs(id, "confirmed")
	stored, _ := filepath.Glob(filepath.Join(r.dir, "handoff", "*-HO-*.md"))
	if len(stored) != 1 {
		t.Fatalf("stored %q", stored)
	}
	plain := stored[0]
	if got := strings.Join(
		a.log(),
		"\n",
	); !strings.Contains(got, "typed: "+resume(plain)) ||
		strings.Contains(got, "touch") {
		t.Errorf("received %s", got)
	}
	if text, err := os.ReadFile(plain); err != nil || !strings.HasSuffix(string(text), "\n\nNext: CI.") {
		t.Errorf("got %q, %v", text, err)
	}
	if s := r.session("w1"); s.LastHandoff == nil || *s.LastHandoff != doc {
		t.Errorf("got %+v", s)
	}
	r.ends()
}
