package observer

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/access"
	"sm/observer/api"
	"sm/observer/fleet"
)

// runPresent is how long after its last poll a run counts as there: between two polls it
// may be ending a client.
const runPresent = api.RunWait + 15*time.Second

// run is one `sm run`, as its polls tell.
type run struct {
	seen time.Time // when it last asked; zero once it has hung up
	last time.Time // the same, whatever came after
	can  bool      // it can restart its client
	// polls counts them: the end of one says nothing about a later one.
	polls int
	// order is what it is to do, news wakes its polls.
	order api.Instruction
	news  chan struct{}
}

// present says whether a run is there; nil is none.
func (r *run) present(now time.Time) bool { return r != nil && now.Sub(r.seen) < runPresent }

// restarts says whether a run is there that can restart its client.
func (r *run) restarts(now time.Time) bool { return r.present(now) && r.can }

// lately says whether a run was there a moment ago: it hangs up when its client changes.
func (r *run) lately(now time.Time) bool { return r != nil && now.Sub(r.last) < runPresent }

// order gives a run its order, and wakes the poll that waits for it.
func (h *handoffs) order(r rotation.Rotation) {
	x := h.run(r.Agent)
	x.order = api.Instruction{Rotation: string(r.ID), Action: api.ActionRestart, Prompt: r.Prompt}
	close(x.news)
	x.news = make(chan struct{})
}

func (h *handoffs) run(agent alerts.AgentID) *run {
	x := h.agents.of(agent)
	if x.run == nil {
		x.run = &run{news: make(chan struct{})}
	}
	return x.run
}

// issueEffect gives a run its order once that is stored.
type issueEffect struct{ rotation rotation.Rotation }

func (e issueEffect) run(context.Context, *effectRunner) outcome { return e }

func (e issueEffect) apply(c *core, _ time.Time) {
	if r, ok := c.rotations.Find(e.rotation.ID); ok && r.State == rotation.Clearing {
		c.handoffs.order(r)
	}
}

// getRun is the long poll of `sm run`.
func (s *server) getRun(w http.ResponseWriter, r *http.Request) error {
	asked, err := api.ParseRun(r.URL.Query())
	if err != nil {
		return statusError{http.StatusUnprocessableEntity, err}
	}
	if s.foreignRun(r) {
		return errForeignRun
	}
	wait, cancel := context.WithTimeout(r.Context(), api.RunWait)
	defer cancel()
	for first := true; ; first = false {
		var p polled
		err := s.change(r.Context(), func(c *core) (durable bool, err error) {
			p, err = c.handoffs.polled(r.PathValue("id"), asked, first, time.Now())
			return asked.Handled != "" && first, err // the run forgets what it has done once it has an answer
		})
		switch {
		case err != nil:
			return err
		case p.order.Rotation != "":
			return answerJSON(w, http.StatusOK, p.order)
		}
		select {
		case <-p.news:
			continue
		case <-wait.Done():
			if r.Context().Err() != nil {
				s.hungUp(r.Context(), r.PathValue("id"), p.number)
				return nil
			}
		case <-s.closing:
		}
		answerRaw(w, nil)
		return nil
	}
}

// errForeignRun answers a run whose name another one uses.
var errForeignRun = errors.New("this agent has a client that another has started; give sm run another --name")

// foreignRun says that the caller has not started the agent's client, as far as the
// system tells: two runs may have been given one name.
func (s *server) foreignRun(r *http.Request) bool {
	pid, err := access.PeerPID(r.Context())
	if s.o.Ancestry == nil || err != nil {
		return false
	}
	client := 0
	err = s.do(r.Context(), func(c *core) {
		agent, err := c.fleet.Agent(r.PathValue("id"), true)
		if err != nil || c.fleet.Gone(agent) {
			return
		}
		if at, ok := c.fleet.Location(agent); ok {
			client = at.At.PID
		}
	})
	if err != nil || client == 0 {
		return false
	}
	return !slices.ContainsFunc(s.o.Ancestry(client), func(p fleet.Process) bool { return p.PID == pid })
}

// polled is what a poll has found: an order, or the channel on which one will come.
type polled struct {
	order  api.Instruction
	news   <-chan struct{}
	number int
}

// polled takes note of a poll, and says what its run is to do.
func (h *handoffs) polled(id string, asked api.Run, first bool, now time.Time) (p polled, err error) {
	agent, err := h.fleet.Agent(id, true)
	if err != nil {
		return p, err
	}
	x := h.run(agent)
	x.seen, x.last, x.can, x.polls = now, now, asked.CanRestart && asked.RestartsLeft > 0, x.polls+1
	open, ok := h.rotations.Open(agent)
	if first && ok && string(open.ID) == asked.Handled { // it may be the answer of an earlier one, or of another agent's
		in := rotation.Answered{ID: open.ID, At: now}
		if asked.Outcome != api.OutcomeRestarted {
			in.Reason, in.Detail, in.Untouched = runReason(asked.Outcome), oneLine(asked.Reason), asked.Outcome != api.OutcomeFailed
		}
		h.step(in, now)
		if in.Untouched {
			h.delivery.notCarried(agent, now)
		}
		open, ok = h.rotations.Open(agent)
	}
	if asked.Handled != "" && x.order.Rotation == asked.Handled {
		x.order = api.Instruction{}
	}
	if ok && string(open.ID) == x.order.Rotation && open.State == rotation.Clearing && asked.Restarting != x.order.Rotation {
		s, _ := h.fleet.Location(agent)
		switch _, idle := h.delivery.idle(agent, now); {
		case idle && s.Session == open.Left:
			p.order = x.order
		case h.fleet.Gone(agent): // an older run between two clients does not say for which order
		default: // it works on: this run has not carried the order out, or else it would say so
			x.order = api.Instruction{}
			h.step(rotation.Typed{ID: open.ID, Reason: rotation.ReasonBusy, At: now}, now)
			h.delivery.notCarried(agent, now)
		}
	}
	p.news, p.number = x.news, x.polls
	return p, nil
}

// maxCarried is how many messages the prompt of a restarted client carries: what it is to
// go on with comes first.
const maxCarried = 4

// carried offers messages that wait to the prompt of a client that `sm run` is to start,
// each a line. No shell reads that prompt. What was said of the context that goes, or of
// handoffs, is no news in the next one.
func (d *delivery) carried(r *rotation.Rotation, now time.Time) (lines []string) {
	if r.Way != rotation.WayRestart || d.dryRun {
		return nil
	}
	lasting := func(m *outbox.Message) bool { return m.Key.Agent != r.Agent && !strings.HasPrefix(m.Ref, handoffRef) }
	for len(lines) < maxCarried {
		m, ok := d.queue.OfferOf(r.Agent, outbox.Restart, alerts.Sequential, now, lasting)
		if !ok {
			break
		}
		d.log.Info("message offered", "agent", r.Agent, "id", m.ID, "via", m.Via, "rotation", r.ID, "offers", m.Offers)
		lines = append(lines, d.sanitise(m.Line()))
	}
	return lines
}

// notCarried takes back what a prompt was to carry whose client was not started.
func (d *delivery) notCarried(agent alerts.AgentID, now time.Time) {
	for _, m := range d.queue.Of(agent) {
		if m.State == outbox.Offered && m.Via == outbox.Restart {
			d.queue.Unoffer(m.ID, now)
		}
	}
}

// restarting says that a client is being restarted, or its prompt has not been seen yet:
// until then no transcript says what it lacks.
func (h *handoffs) restarting(agent alerts.AgentID) bool {
	r, open := h.rotations.Open(agent)
	return open && r.Way == rotation.WayRestart && r.State.Touched()
}

// hungUp takes note of a run that has ended while it asked, unless it has asked again.
func (s *server) hungUp(ctx context.Context, id string, number int) {
	_ = s.do(context.WithoutCancel(ctx), func(c *core) { // when the loop has ended nobody needs to know
		if agent, err := c.fleet.Agent(id, true); err == nil && c.handoffs.run(agent).polls == number {
			c.handoffs.run(agent).seen = time.Time{}
		}
	})
}

// runReason is the word for why a run did not restart its client.
func runReason(outcome string) string {
	switch outcome {
	case api.OutcomeExhausted:
		return rotation.ReasonExhausted
	case api.OutcomeRefused:
		return rotation.ReasonRefused
	}
	return rotation.ReasonRestart
}

// maxLine bounds what another process says, in bytes.
const maxLine = 200

// oneLine is what another process says, fit for a log and a message.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) }), " ")
	return strings.ToValidUTF8(s[:min(len(s), maxLine)], "")
}
