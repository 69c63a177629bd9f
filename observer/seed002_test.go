package observer

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sm/handoff"
	"sm/observer/api"
)

// The tests of this file are what seed 002 promises of documents, of its error handling and
// of its safety limits, as far as the observer has to do with it. What `sm run` does with an
// order is tested in handoff/supervise, Ctrl-C there as well.

// newSeed002 is an observer with an agent "w1" in a pane, at work on its first prompt.
func newSeed002(t *testing.T, change func(*HandoffOptions)) (*rig, *cast, *actor) {
	t.Parallel()
	c := newCast(t)
	if change != nil {
		change(&c.r.o.Handoff)
	}
	c.r.start()
	a := c.enter("w1", 3)
	a.works("Go.")
	return c.r, c, a
}

const webChannel = "-home-dev-web"

// leaves stores a document that an agent has left so long ago.
func (r *rig) leaves(agent, body string, before time.Duration) handoff.Document {
	r.t.Helper()
	d, err := r.o.Handoff.Documents.Put(handoff.NewDocument{
		Channel: webChannel, Agent: agent, SessionID: uuid(9), WorkingDir: "/home/dev/web", Type: handoff.Manual, Path: "/home/dev/web/doc.md", Body: body,
	}, time.Now().Add(-before))
	noErrors(r.t, err)
	return d
}

// documentIs waits for the status of an agent's document.
func (r *rig) documentIs(id string, want handoff.Status) {
	r.t.Helper()
	r.until(id+" is "+string(want), func() bool {
		list, err := r.o.Handoff.Documents.List(time.Now())
		noErrors(r.t, err)
		for _, d := range list {
			if d.ID == id && d.Status == want {
				return true
			}
		}
		return false
	})
}

func TestSeed002_Document_GivenOnceWhateverBeginsTheSession(t *testing.T) {
	for _, source := range []string{"startup", "resume", "clear"} {
		t.Run(source, func(t *testing.T) {
			r, _, a := newSeed002(t, nil)
			d := r.leaves("w1", "Next: CI.", time.Minute)
			a.starts(source)
			got := a.heard()
			if len(got) != 1 || !strings.HasPrefix(got[0], "SessionStart: === HANDOFF LOADED (ID: "+d.ID+") ===\nChannel: "+webChannel+"\nPrevious Session: "+uuid(9)+"\nType: manual\n") ||
				!strings.Contains(got[0], "\nNext: CI.\n") || !strings.HasSuffix(got[0], "\n=== END HANDOFF ===") {
				t.Fatalf("heard %q", got)
			}
			r.documentIs(d.ID, handoff.StatusConsumed)
			for _, again := range []string{"startup", "resume", "clear"} {
				a.starts(again)
			}
			if n := len(a.heard()); n != 1 {
				t.Errorf("heard %q", a.heard())
			}
			r.ends()
		})
	}
}

// TestSeed002_Document_ConsumedByTheTranscriptAlone: a client that is gone before it writes
// the answer down has not heard it; the next one of the agent does.
func TestSeed002_Document_ConsumedByTheTranscriptAlone(t *testing.T) {
	r, _, a := newSeed002(t, nil)
	d := r.leaves("w1", "Next: CI.", time.Minute)
	for range 2 {
		text := r.fire("w1", uuid(50), "SessionStart", `,"source":"startup","cwd":"/home/dev/web"`) // and no transcript
		if !strings.Contains(text, d.ID) {
			t.Fatalf("told %q", text)
		}
	}
	r.documentIs(d.ID, handoff.StatusActive)
	a.starts("startup")
	if got := a.heard(); len(got) != 1 || !strings.Contains(got[0], d.ID) {
		t.Errorf("heard %q", got)
	}
	r.documentIs(d.ID, handoff.StatusConsumed)
	r.ends()
}

func TestSeed002_Document_NoneBesideTheResumePrompt(t *testing.T) {
	r, c, a := newSeed002(t, nil)
	left := r.leaves("w1", "Of an earlier one.", time.Minute)
	doc := c.doc("doc.md", "Next: CI.")
	id := a.hands(doc)
	a.ends()
	h := r.handoffIs(id, "confirmed")
	a.checkHeard("the prompt, and no document besides", "typed: /clear", "typed: "+resume(doc))
	r.documentIs(h.Document, handoff.StatusConsumed)
	a.starts("resume")
	if got := strings.Join(a.heard(), "\n"); strings.Contains(got, h.Document) || strings.Contains(got, left.ID) {
		t.Errorf("heard %s", got)
	}
	r.ends()
}

// TestSeed002_Document_ConsumedAfterAll: what an observer did not come to mark as heard, the
// next one does.
func TestSeed002_Document_ConsumedAfterAll(t *testing.T) {
	r, c, a := newSeed002(t, nil)
	id := a.hands(c.doc("doc.md", "Next: CI."))
	a.ends()
	<-c.begun
	r.handoffIs(id, "cleared")
	nap := make(chan struct{})
	c.set(func() { a.nap = nap })
	<-c.begun
	dir := filepath.Join(r.dir, "handoff")
	noErrors(t, os.Rename(dir, dir+".away"))
	close(nap)
	h := r.handoffIs(id, "confirmed")
	r.ends()
	noErrors(t, os.Rename(dir+".away", dir))
	r.documentIs(h.Document, handoff.StatusActive)
	r.start()
	r.documentIs(h.Document, handoff.StatusConsumed)
	a.starts("resume")
	a.checkHeard("", "typed: /clear", "typed: "+resume(h.Path))
	r.ends()
}

func TestSeed002_Document_TwoAgentsOfOneChannel(t *testing.T) {
	r, c, a := newSeed002(t, nil)
	b := c.enter("w2", 4)
	b.works("Go.")
	one, two := c.doc("one.md", "Of the first."), c.doc("two.md", "Of the second.")
	first, second := a.hands(one), b.hands(two)
	a.ends()
	b.ends()
	h1, h2 := r.handoffIs(first, "confirmed"), r.handoffIs(second, "confirmed")
	a.checkHeard("", "typed: /clear", "typed: "+resume(one))
	b.checkHeard("", "typed: /clear", "typed: "+resume(two))
	for _, x := range []struct {
		a           *actor
		mine, other string
	}{{a, h1.Document, h2.Document}, {b, h2.Document, h1.Document}} {
		r.documentIs(x.mine, handoff.StatusConsumed)
		for _, source := range []string{"startup", "resume", "clear"} {
			x.a.starts(source)
		}
		if n := len(x.a.heard()); n != 2 {
			t.Errorf("%s is given a document at its start: %q", x.a.agent, x.a.heard())
		}
		text := x.a.hook("SessionStart", `,"source":"compact"`)
		if !strings.Contains(text, x.mine) || strings.Contains(text, x.other) {
			t.Errorf("%s is told %q after a compaction", x.a.agent, text)
		}
	}
	r.ends()
}

// TestSeed002_Document_OfAnotherAgentOnlyOnceItHasLeft: the document of a client that still
// runs is nobody else's; of one that has ended a new agent takes it, one only.
func TestSeed002_Document_OfAnotherAgentOnlyOnceItHasLeft(t *testing.T) {
	r, c, a := newSeed002(t, nil)
	d := r.leaves("w1", "Next: CI.", time.Minute)
	c.enter("w2", 4).checkHeard("w1 still runs")
	c.set(func() { c.dead[a.start] = true })
	b := c.enter("w4", 5)
	if got := b.heard(); len(got) != 1 || !strings.Contains(got[0], d.ID) {
		t.Errorf("heard %q", got)
	}
	c.enter("w5", 6).checkHeard("another has it")
	back := c.enter("w1", 7)
	back.checkHeard("whoever left it does not get it back from another")
	r.ends()
}

func TestSeed002_Safety_ADocumentExpiresAfterTwoHours(t *testing.T) {
	r, _, a := newSeed002(t, nil)
	d := r.leaves("w1", "Next: CI.", 2*time.Hour+time.Minute)
	a.starts("startup")
	a.checkHeard("nothing: it is too old")
	r.documentIs(d.ID, handoff.StatusExpired)
	r.leaves("w1", "Next: CI.", 2*time.Hour-time.Minute)
	a.starts("startup")
	if n := len(a.heard()); n != 1 {
		t.Errorf("heard %q", a.heard())
	}
	r.ends()
}

// TestSeed002_Errors_WhatIsStoredIsNotWhatTheManifestSays: a file that has gone, and one with
// another document, are not given. The session starts without, and the log says why.
func TestSeed002_Errors_WhatIsStoredIsNotWhatTheManifestSays(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"gone": os.Remove,
		"another document": func(path string) error {
			text, err := os.ReadFile(path)
			return cmp.Or(err, os.WriteFile(path, []byte(strings.Replace(string(text), "HANDOFF-ID: HO-", "HANDOFF-ID: HO-1", 1)), 0o600))
		},
		"not a document": func(path string) error { return os.WriteFile(path, []byte("rm -rf /"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			r, _, a := newSeed002(t, nil)
			d := r.leaves("w1", "Next: CI.", time.Minute)
			paths, err := filepath.Glob(filepath.Join(r.dir, "handoff", "*.md"))
			noErrors(t, err)
			for _, path := range paths {
				noErrors(t, spoil(path))
			}
			a.starts("startup")
			a.checkHeard("nothing")
			if log := r.log.String(); !strings.Contains(log, "a session starts without its document") || !strings.Contains(log, d.ID) {
				t.Errorf("the log does not say so:\n%s", log)
			}
			r.ends()
		})
	}
}

func TestSeed002_Document_MadeBeforeACompaction(t *testing.T) {
	r, _, a := newSeed002(t, func(o *HandoffOptions) { o.AutoDocument = true })
	if text := a.hook("PreCompact", `,"trigger":"auto"`); text != "" {
		t.Errorf("the client would give %q to the summariser", text)
	}
	text := a.hook("SessionStart", `,"source":"compact"`)
	for _, want := range []string{"=== HANDOFF LOADED (ID: HO-", "Type: auto\n", "Previous Session: " + a.session, "Go.", "Age: "} {
		if !strings.Contains(text, want) {
			t.Errorf("told %q, which lacks %q", text, want)
		}
	}
	r.ends()
}

// TestSeed002_Errors_NoTranscriptNoDocument: hooks fail silently for the client, and the
// compaction goes on.
func TestSeed002_Errors_NoTranscriptNoDocument(t *testing.T) {
	r, _, _ := newSeed002(t, func(o *HandoffOptions) { o.AutoDocument = true })
	if text := r.fire("w9", uuid(90), "PreCompact", `,"trigger":"auto"`); text != "" {
		t.Errorf("told %q", text)
	}
	if !strings.Contains(r.log.String(), "no document was made before a compaction") {
		t.Errorf("the log does not say so:\n%s", r.log)
	}
	if text := r.fire("w9", uuid(90), "SessionStart", `,"source":"compact"`); text != "" {
		t.Errorf("told %q", text)
	}
	r.ends()
}

// supervisor is an `sm run`, as far as its polls go.
type supervisor struct {
	r      *rig
	agent  string
	orders chan api.Instruction
	cancel context.CancelFunc
	ended  chan struct{}
}

// polls asks for orders until it has one, or hangs up.
func (r *rig) polls(agent string, run api.Run) *supervisor {
	ctx, cancel := context.WithCancel(context.Background())
	s := &supervisor{r, agent, make(chan api.Instruction, 1), cancel, make(chan struct{})}
	client, before := api.NewClient([]string{r.o.Socket}), r.polled(agent)
	go func() {
		defer close(s.ended)
		for ctx.Err() == nil {
			in, ok, err := client.NextInstruction(ctx, agent, run)
			if ok {
				s.orders <- in
			}
			if ok || err != nil {
				return
			}
			run.Handled, run.Outcome, run.Reason = "", "", ""
		}
	}()
	r.t.Cleanup(s.hangUp)
	r.until("the observer knows of the run", func() bool { return r.polled(agent) > before || len(s.orders) > 0 })
	return s
}

func (r *rig) polled(agent string) (n int) {
	_ = r.app.do(context.Background(), func(c *core) { // it has not ended
		if id, err := c.fleet.Agent(agent, true); err == nil && c.runs[id] != nil {
			n = c.runs[id].polls
		}
	})
	return n
}

func (s *supervisor) hangUp() {
	s.cancel()
	<-s.ended
}

func (s *supervisor) order() api.Instruction {
	s.r.t.Helper()
	select {
	case in := <-s.orders:
		return in
	case <-time.After(patience):
		s.r.t.Fatalf("no order\n%s", s.r.log)
		return api.Instruction{}
	}
}

// restarts ends the client of an agent and begins the next one with a prompt.
func (a *actor) restarts(n int, prompt string) *actor {
	a.cast.set(func() { a.cast.dead[a.start] = true })
	b := a.cast.hire(a.agent, n)
	b.starts("startup")
	b.works(prompt)
	b.ends()
	return b
}

func autoRotate(o *HandoffOptions) { o.AutoRotate = true }

func TestSeed002_Rotate_ByItselfAtCriticalUnderARun(t *testing.T) {
	r, _, a := newSeed002(t, autoRotate)
	run := r.polls("w1", api.Run{CanRestart: true, RestartsLeft: 10})
	a.context = 131_000
	a.works("Grow.")
	r.until("a handoff is scheduled", func() bool { return len(r.handoffs()) == 1 })
	id := r.handoffs()[0].ID
	r.handoffIs(id, "scheduled") // the turn goes on
	a.ends()
	in := run.order()
	h := r.handoffs()[0]
	if in.Rotation != id || in.Action != api.ActionRestart || in.Prompt != resume(h.Path) || !h.Auto || h.Way != "restart" {
		t.Errorf("%+v of %+v", in, h)
	}
	text, err := os.ReadFile(h.Path)
	noErrors(t, err)
	if !strings.Contains(string(text), "Grow.") || !strings.Contains(string(text), "<!-- TYPE: auto -->") {
		t.Errorf("the document:\n%s", text)
	}
	b := a.restarts(4, in.Prompt)
	answered := r.polls("w1", api.Run{CanRestart: true, RestartsLeft: 9, Handled: id, Outcome: api.OutcomeRestarted})
	h = r.handoffIs(id, "confirmed")
	if h.NextSession != b.session {
		t.Errorf("%+v", h)
	}
	b.checkHeard("no document besides the prompt")
	a.checkHeard("nothing is typed")
	if s := r.session("w1"); s.SessionID != b.session || s.Cycle != 2 || s.LastHandoff == nil || *s.LastHandoff != h.Path {
		t.Errorf("%+v", s)
	}
	if len(answered.orders) != 0 || len(r.handoffs()) != 1 {
		t.Errorf("another order, or handoff: %+v", r.handoffs())
	}
	r.ends()
}

// TestSeed002_Rotate_NotByItself: without auto_rotate, and without a run, nobody rotates who
// has not asked for it.
func TestSeed002_Rotate_NotByItself(t *testing.T) {
	for name, on := range map[string]bool{"switched off": false, "no run": true} {
		t.Run(name, func(t *testing.T) {
			r, _, a := newSeed002(t, func(o *HandoffOptions) { o.AutoRotate = on })
			if !on {
				r.polls("w1", api.Run{CanRestart: true, RestartsLeft: 10})
			}
			a.context = 131_000
			a.works("Grow.")
			r.until("critical", func() bool { return strings.Contains(strings.Join(r.mail(), "\n"), "w1/1/critical") })
			a.ends()
			if n := len(r.handoffs()); n != 0 {
				t.Errorf("%d handoffs", n)
			}
			r.ends()
		})
	}
}

// TestSeed002_Safety_NoRestartIsLeft: the budget is asked before anything is ended. The
// agent lives, its messages come, and it is told.
func TestSeed002_Safety_NoRestartIsLeft(t *testing.T) {
	r, c, a := newSeed002(t, nil)
	run := r.polls("w1", api.Run{CanRestart: true, RestartsLeft: 1})
	doc := c.doc("doc.md", "Next: CI.")
	id := a.hands(doc)
	a.ends()
	in := run.order()
	m := r.sends("w1", "sequential", "Look at CI.")
	r.polls("w1", api.Run{Handled: in.Rotation, Outcome: api.OutcomeExhausted, Reason: "no restart is left"})
	r.handoffIs(id, "failed: restarts_exhausted")
	r.until("the message is heard", func() bool { return r.message(m).Status == "confirmed" })
	r.until("the agent is told", func() bool {
		return strings.Contains(strings.Join(a.heard(), "\n"), doc+" did not take place: restarts exhausted (no restart is left). Your context is as it was")
	})
	if s := r.session("w1"); s.Cycle != 1 || s.SessionID != a.session {
		t.Errorf("%+v", s)
	}
	r.ends()
}

// TestSeed002_Errors_AnAnswerOfAnotherRotation: what a run has done for another rotation, by
// a mistake or late, changes nothing of this one.
func TestSeed002_Errors_AnAnswerOfAnotherRotation(t *testing.T) {
	for _, outcome := range []string{api.OutcomeRestarted, api.OutcomeExhausted, api.OutcomeFailed} {
		t.Run(outcome, func(t *testing.T) {
			r, c, a := newSeed002(t, nil)
			run := r.polls("w1", api.Run{CanRestart: true, RestartsLeft: 10})
			doc := c.doc("doc.md", "Next: CI.")
			id := a.hands(doc)
			a.ends()
			if in := run.order(); in.Rotation != id || in.Prompt != resume(doc) {
				t.Fatalf("%+v", in)
			}
			again := r.polls("w1", api.Run{CanRestart: true, RestartsLeft: 10, Handled: "ro-another", Outcome: outcome, Reason: "x"})
			if in := again.order(); in.Rotation != id {
				t.Errorf("the order is now %+v", in)
			}
			r.handoffIs(id, "clearing")
			a.restarts(4, resume(doc))
			r.handoffIs(id, "confirmed")
			r.ends()
		})
	}
}

// TestSeed002_Errors_AnAnswerOfAnotherAgentsRun: a run speaks for its own agent alone.
func TestSeed002_Errors_AnAnswerOfAnotherAgentsRun(t *testing.T) {
	r, c, a := newSeed002(t, nil)
	c.enter("w2", 5)
	run := r.polls("w1", api.Run{CanRestart: true, RestartsLeft: 10})
	doc := c.doc("doc.md", "Next: CI.")
	id := a.hands(doc)
	a.ends()
	run.order()
	for _, outcome := range []string{api.OutcomeRestarted, api.OutcomeExhausted, api.OutcomeFailed} {
		r.polls("w2", api.Run{CanRestart: true, RestartsLeft: 10, Handled: id, Outcome: outcome, Reason: "x"}).hangUp()
		r.handoffIs(id, "clearing")
	}
	a.restarts(4, resume(doc))
	r.handoffIs(id, "confirmed")
	r.ends()
}

// TestSeed002_Errors_ARunThatHangsUp: without its run a client in a pane is cleared there.
func TestSeed002_Errors_ARunThatHangsUp(t *testing.T) {
	r, c, a := newSeed002(t, nil)
	r.polls("w1", api.Run{CanRestart: true, RestartsLeft: 10}).hangUp()
	r.until("the run has gone", func() bool {
		there := true
		noErrors(t, r.app.do(t.Context(), func(c *core) { there = c.runs["w1"].present(time.Now()) }))
		return !there
	})
	doc := c.doc("doc.md", "Next: CI.")
	id := a.hands(doc)
	a.ends()
	if h := r.handoffIs(id, "confirmed"); h.Way != "clear" {
		t.Errorf("%+v", h)
	}
	r.ends()
}

// TestSeed002_Errors_ARunThatTakesAnOrderAndIsNeverSeenAgain: nobody knows what it has done,
// and that is what is said.
func TestSeed002_Errors_ARunThatTakesAnOrderAndIsNeverSeenAgain(t *testing.T) {
	r, c, a := newSeed002(t, func(o *HandoffOptions) {
		o.Rotations.RestartWithin, o.Rotations.Grace = 2*time.Second, time.Second
	})
	run := r.polls("w1", api.Run{CanRestart: true, RestartsLeft: 10})
	doc := c.doc("doc.md", "Next: CI.")
	id := a.hands(doc)
	a.ends()
	run.order()
	r.handoffIs(id, "failed: run_gone")
	r.until("the agent is told", func() bool {
		return strings.Contains(strings.Join(a.heard(), "\n"), "[sm handoff] A handoff may have cleared your context (run gone). If you do not know what you were working on, read "+doc+" and continue from there.")
	})
	// An answer that comes after all changes nothing any more.
	r.polls("w1", api.Run{CanRestart: true, RestartsLeft: 9, Handled: id, Outcome: api.OutcomeRestarted})
	r.handoffIs(id, "failed: run_gone")
	r.ends()
}

// TestSeed002_Restart_TheSameOrderOnce: an observer that ends while an order is out gives the
// same one again, which a run carries out once however often it is said; when it has been
// carried out there is none.
func TestSeed002_Restart_TheSameOrderOnce(t *testing.T) {
	for name, end := range restarts() {
		t.Run(name, func(t *testing.T) {
			r, c, a := newSeed002(t, nil)
			run := r.polls("w1", api.Run{CanRestart: true, RestartsLeft: 10})
			doc := c.doc("doc.md", "Next: CI.")
			id := a.hands(doc)
			a.ends()
			first := run.order()
			m := r.sends("w1", "urgent", "Now.")
			end(r)
			r.start()
			if second := r.polls("w1", api.Run{CanRestart: true, RestartsLeft: 10}).order(); second != first || first.Rotation != id {
				t.Fatalf("%+v, then %+v", first, second)
			}
			if text := a.hook("PostToolUse", ""); text != "" {
				t.Errorf("told %q while it is restarted", text)
			}
			b := a.restarts(4, first.Prompt)
			r.handoffIs(id, "confirmed")
			end(r)
			r.start()
			late := r.polls("w1", api.Run{CanRestart: true, RestartsLeft: 9, Handled: id, Outcome: api.OutcomeRestarted})
			r.until("the message follows", func() bool { return r.message(m).Status == "confirmed" })
			if len(late.orders) != 0 {
				t.Errorf("another order: %+v", <-late.orders)
			}
			if got := strings.Join(b.heard(), "\n"); strings.Contains(got, "HANDOFF LOADED") {
				t.Errorf("heard %s", got)
			}
			r.ends()
		})
	}
}
