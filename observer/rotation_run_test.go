package observer

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"sm/observer/api"
)

// supervisor makes the polls of an `sm run`.
type supervisor struct {
	r      *rig
	orders chan api.Instruction
	cancel context.CancelFunc
	ended  chan struct{}
}

// polls requests orders for w1 until it has one or disconnects.
func (r *rig) polls(run api.Run) *supervisor {
	ctx, cancel := context.WithCancel(context.Background())
	s := &supervisor{r, make(chan api.Instruction, 1), cancel, make(chan struct{})}
	client := api.NewClient([]string{r.o.Socket})
	before := r.polled()
	go func() {
		defer close(s.ended)
		for ctx.Err() == nil {
			in, err := client.NextInstruction(ctx, "w1", run)
			if in.Rotation != "" {
				s.orders <- in
			}
			if in.Rotation != "" || err != nil {
				return
			}
			run.Handled = ""
			run.Outcome = ""
			run.Reason = ""
		}
	}()
	r.t.Cleanup(s.hangUp)
	r.until(
		"the observer has the run",
		func() bool { return r.polled() > before || len(s.orders) > 0 },
	)
	return s
}

func (r *rig) polled() (n int) {
	_ = r.app.do(context.Background(), func(c *core) { // the observer still runs
		if id, err := c.fleet.Agent("w1", true); err == nil && c.agents.look(id).run != nil {
			n = c.agents[id].run.polls
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

// restarts ends the client of an agent and starts the next one with a prompt.
func (a *fakeClient) restarts(prompt string) *fakeClient {
	a.terminal.set(func() { a.terminal.dead[a.start] = true })
	b := a.terminal.newClient(a.agent, 4)
	b.starts("startup")
	b.works(prompt)
	b.ends()
	return b
}

func autoRotate(o *HandoffOptions) { o.AutoRotate = true }

// TestRotation_ByItselfOnce tests that no automatic handoff is scheduled for a context that is
// not critical any more, and that a cancelled one is not scheduled again in its cycle.
func TestRotation_ByItselfOnce(t *testing.T) {
	t.Parallel()
	r, _, a := newRotationRig(t, autoRotate)
	handoffs := func(level string, tokens, want int) {
		t.Helper()
		a.context = tokens
		a.works("Go on.")
		r.until(level, func() bool {
			s := r.session("w1")
			return s.Level == level && *s.TokensUsed == int64(tokens)
		})
		if level == "warn" {
			r.polls(api.Run{CanRestart: true, RestartsLeft: 10})
		}
		noErrors(t, r.app.do(t.Context(), func(c *core) { c.passHandoffs(time.Now()) }))
		if list := r.handoffs(); len(list) != want {
			t.Fatalf("%s: %+v", level, list)
		}
	}
	handoffs("critical", 131_000, 0)
	handoffs("warn", 126_000, 0)
	handoffs("critical", 131_001, 1)
	r.ask("DELETE", "/handoffs/"+r.handoffs()[0].ID, "")
	r.stop()
	r.start()
	handoffs("warn", 126_001, 1)
	handoffs("critical", 131_002, 1)
}

// TestRotation_ByItselfAtCriticalUnderARun tests that an agent hands over by itself, also if
// its run was not there yet when the agent got its critical notice.
func TestRotation_ByItselfAtCriticalUnderARun(t *testing.T) {
	t.Parallel()
	r, _, a := newRotationRig(t, autoRotate)
	a.context = 131_000
	a.works("Grow.")
	r.until("the notice", func() bool { return r.session("w1").Level == "critical" })
	run := r.polls(api.Run{CanRestart: true, RestartsLeft: 10})
	r.until("a handoff is scheduled", func() bool { return len(r.handoffs()) == 1 })
	id := r.handoffs()[0].ID
	r.handoffIs(id, "scheduled") // the turn continues
	a.ends()
	in := run.order()
	h := r.handoffs()[0]
	if in.Rotation != id || in.Action != api.ActionRestart || in.Prompt != resume(h.Path) ||
		!h.Auto ||
		h.Way != "restart" {
		t.Errorf("%+v of %+v", in, h)
	}
	text, err := os.ReadFile(h.Path)
	noErrors(t, err)
	if !strings.Contains(string(text), "Grow.") ||
		!strings.Contains(string(text), "<!-- TYPE: auto -->") {
		t.Errorf("the document:\n%s", text)
	}
	b := a.restarts(in.Prompt)
	answered := r.polls(api.Run{
		CanRestart:   true,
		RestartsLeft: 9,
		Handled:      id,
		Outcome:      api.OutcomeRestarted,
	})
	h = r.handoffIs(id, "confirmed")
	if h.NextSession != b.session {
		t.Errorf("got %+v", h)
	}
	b.checkReceived("no document besides the prompt")
	a.checkReceived("nothing is typed")
	if s := r.session("w1"); s.SessionID != b.session || s.Cycle != 2 ||
		s.LastHandoff == nil ||
		*s.LastHandoff != h.Path {
		t.Errorf("got %+v", s)
	}
	if len(answered.orders) != 0 || len(r.handoffs()) != 1 {
		t.Errorf("another order, or handoff: %+v", r.handoffs())
	}
	r.ends()
}

// TestRotation_RestartWaits tests that a client is not restarted while its user's draft is at
// its prompt.
func TestRotation_RestartWaits(t *testing.T) {
	t.Parallel()
	r, c, a := newRotationRig(t, nil)
	run := r.polls(api.Run{CanRestart: true, RestartsLeft: 10})
	c.set(func() { c.refuse = errDraft })
	id := a.hands(c.doc("doc.md", "Next: CI."))
	a.ends()
	r.handoffIs(id, "scheduled, waiting: draft")
	c.set(func() { c.refuse = nil })
	a.restarts(run.order().Prompt)
	r.handoffIs(id, "confirmed")
	r.ends()
}

// TestRotation_TheSameOrderOnce tests that an observer that ends after it has sent an order
// sends the same one again, which a run executes once; after that there is none.
func TestRotation_TheSameOrderOnce(t *testing.T) {
	t.Parallel()
	for name, end := range restarts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, c, a := newRotationRig(t, nil)
			run := r.polls(api.Run{CanRestart: true, RestartsLeft: 10})
			doc := c.doc("doc.md", "Next: CI.")
			id := a.hands(doc)
			m := r.sends("w1", "urgent", "Now.")
			if text := a.hook("PostToolUse", ""); text != "" {
				t.Errorf("got %q before the end of the turn", text)
			}
			a.ends()
			first := run.order()
			end(r)
			r.start()
			if second := r.polls(api.Run{
				CanRestart:   true,
				RestartsLeft: 10,
			}).order(); second != first || first.Rotation != id {
				t.Fatalf("%+v, then %+v", first, second)
			}
			if text := a.hook("PostToolUse", ""); text != "" {
				t.Errorf("got %q during the restart", text)
			}
			b := a.restarts(first.Prompt)
			r.handoffIs(id, "confirmed")
			end(r)
			r.start()
			late := r.polls(api.Run{
				CanRestart:   true,
				RestartsLeft: 9,
				Handled:      id,
				Outcome:      api.OutcomeRestarted,
			})
			r.until(
				"the message follows",
				func() bool { return r.message(m).Status == "confirmed" },
			)
			if len(late.orders) != 0 {
				t.Errorf("another order: %+v", <-late.orders)
			}
			if got := strings.Join(b.log(), "\n"); strings.Contains(got, "HANDOFF LOADED") {
				t.Errorf("received %s", got)
			}
			r.ends()
		})
	}
}

// TestRotation_CriticalIsReadUnderARun tests that an agent gets its notice, though a handoff
// was scheduled for it.
func TestRotation_CriticalIsReadUnderARun(t *testing.T) {
	t.Parallel()
	r, _, a := newRotationRig(t, autoRotate)
	r.polls(api.Run{CanRestart: true, RestartsLeft: 10})
	a.context = 131_000
	a.works("Grow.")
	r.until("a handoff is scheduled", func() bool { return len(r.handoffs()) == 1 })
	if text := a.hook("PostToolUse", ""); !strings.Contains(text, "critically high") {
		t.Errorf("got %q", text)
	}
}
