package observer

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/fleet"
	"sm/transcript"
	"sm/transcript/wording"
)

const (
	// rotateEvery is how often it is looked whether a handoff can go on.
	rotateEvery = time.Second
	// runsWithin is how long after the start of the observer every `sm run` has asked: one
	// that found none looks again each 10 s.
	runsWithin = 12 * time.Second
)

// step passes an input to the rotations and starts the resulting effects. A dry
// run rotates no agent.
func (h *handoffs) step(in rotation.Input, now time.Time) {
	if !h.dryRun {
		h.perform(h.rotations.Step(in), now)
	}
}

// perform begins effects. What changes the state alone is done at once, the rest once that
// state is stored.
func (h *handoffs) perform(effects []rotation.Effect, now time.Time) {
	for _, e := range effects {
		switch x := e.(type) {
		case rotation.Hold:
			h.queue.Hold(x.Agent, true)
		case rotation.Release:
			h.queue.Hold(x.Agent, false)
		case rotation.Prepare:
			h.prepare(x.Rotation)
		case rotation.Clear:
			h.typeOwn(ownEffect{rotation: x.Rotation, text: x.Text})
		case rotation.Resume:
			h.typeOwn(ownEffect{rotation: x.Rotation, text: x.Rotation.Prompt, prompt: true})
		case rotation.Finish:
			h.typeOwn(ownEffect{
				rotation: x.Rotation,
				text:     x.Text,
				prompt:   x.Prompt,
				finish:   true,
			})
		case rotation.Restart:
			h.effects.add(issueEffect{x.Rotation})
		case rotation.Report:
			h.report(x, now)
		case rotation.Unhelpful:
			h.unhelpful(x.Agent, now)
		case rotation.Withdraw:
			h.effects.add(withdrawEffect{x.Rotation.Channel, x.Rotation.Document})
		case rotation.Executed:
			h.log.Info(
				"handoff confirmed",
				"agent", x.Rotation.Agent,
				"id", x.Rotation.ID,
				"path", x.Rotation.Read,
				"session", x.Rotation.Next,
			)
			s, _ := h.fleet.Location(x.Rotation.Agent)
			h.effects.add(freshenEffect{x.Rotation, s.At},
				consumeEffect{
					channel:  x.Rotation.Channel,
					document: x.Rotation.Document,
					session:  x.Rotation.Next,
					pid:      s.At.PID,
				})
		}
	}
}

// pass lets handoffs go on that wait for their agent's prompt.
func (h *handoffs) pass(now time.Time) {
	if h.dryRun || now.Sub(h.rotated) < rotateEvery {
		return
	}
	h.rotated = now
	for _, agent := range h.rotations.Opens() {
		switch place, idle := h.delivery.idle(agent, now); {
		case idle && h.awaitsRun(agent, now):
		case idle && !h.agents.look(agent).typing.busy:
			s, _ := h.fleet.Location(agent)
			h.step(rotation.Idle{
				Agent:   agent,
				Way:     h.way(agent, place, now),
				Session: s.Session,
				At:      now,
			}, now)
		case !idle && h.fleet.Gone(agent) && !h.agents.look(agent).run.lately(now):
			h.step(rotation.Gone{Agent: agent, At: now}, now)
		}
	}
	h.perform(h.rotations.Tick(now), now)
}

// awaitsRun reports whether an agent's sm run may not have polled since the
// observer started. A handoff from before waits for the poll.
func (h *handoffs) awaitsRun(agent alerts.AgentID, now time.Time) bool {
	r, _ := h.rotations.Open(agent)
	return r.State == rotation.Scheduled && r.Made.Before(h.began) && now.Sub(h.began) < runsWithin &&
		!h.agents.look(agent).run.present(now)
}

// way is how an agent's context can be cleared: `sm run` restarts its own client, and any
// other is typed to.
func (h *handoffs) way(agent alerts.AgentID, at fleet.Place, now time.Time) rotation.Way {
	s, _ := h.fleet.Location(agent)
	switch {
	case h.agents.look(agent).run.restarts(now):
		return rotation.WayRestart
	case h.delivery.terminal == nil || at.PID == 0:
		return rotation.WayNone
	case h.clients.OfProvider(s.Provider).Threads && !s.Open: // its state is unknown
		return rotation.WayNew
	}
	return rotation.WayClear
}

// codexApp is a provider that has no terminal. (Codex in one calls /clear /new.)
const codexApp = "codex-app"

// checkFirstReading looks at the first context size of a session that a handoff has begun.
func (h *handoffs) checkFirstReading(ev *alerts.Event, now time.Time) {
	if ev.Kind != alerts.EventReading || ev.Tokens <= 0 {
		return
	}
	record, ok := h.rotations.Agent(ev.Agent)
	if !ok || record.Judged || record.Session == "" || ev.At.Before(record.At) {
		return
	}
	s, _ := h.fleet.Location(ev.Agent)
	known, _ := h.engine.Agent(ev.Agent)
	high := h.settings.Alerts.Thresholds.Level(ev.Tokens, transcript.Window{
		Tokens:   ev.Window,
		Reserved: ev.Reserved,
	}, known.Threshold) >= alerts.Warn
	h.step(rotation.First{Agent: ev.Agent, Session: s.Session, High: high}, now)
}

// resume goes on with what was under way when the last observer ended.
func (h *handoffs) resume() {
	for _, agent := range h.rotations.Opens() {
		r, _ := h.rotations.Open(agent)
		if r.State != rotation.Scheduled {
			h.queue.Hold(agent, true)
		}
		if r.State == rotation.Clearing && r.Way == rotation.WayRestart {
			h.order(r)
		}
	}
	heard := map[alerts.AgentID]rotation.Rotation{}
	for _, r := range h.rotations.All() { // the oldest first
		if r.State == rotation.Confirmed {
			heard[r.Agent] = r
		} else if r.Unused && !h.dryRun && h.settings.Handoff.Documents != nil {
			h.effects.add(withdrawEffect{r.Channel, r.Document})
		}
	}
	for _, r := range heard { // it may not have come to that; twice is as good as once
		h.effects.add(consumeEffect{channel: r.Channel, document: r.Document, session: r.Next})
		if s, _ := h.fleet.Location(r.Agent); r.Next != "" && s.Session == r.Next {
			h.effects.add(freshenEffect{rotation: r})
		}
	}
}

func (h *handoffs) rename(from, to alerts.AgentID, now time.Time) {
	h.queue.Hold(from, false)
	h.perform(h.rotations.Rename(from, to, now), now)
	if r, open := h.rotations.Open(to); open && r.State != rotation.Scheduled {
		h.queue.Hold(to, true)
	}
}

// reset is a context that began anew. One that a handoff has cleared proves that.
func (h *handoffs) reset(ev *alerts.Event, now time.Time) {
	if r, open := h.rotations.Open(ev.Agent); open && r.State.Touched() {
		ev.Cause, ev.Handoff = alerts.CauseHandoff, transcript.KeyOf([]byte(r.ID))
	}
	s, _ := h.fleet.Location(ev.Agent)
	at := ev.At
	if h.registry { // it says when the client's status has changed, which may be before that
		at = now
	}
	h.step(rotation.Started{Agent: ev.Agent, Session: s.Session, At: at}, now)
}

// handoffRef begins the names of what is said about handoffs.
const handoffRef = "handoff/"

// notifyAgent puts what a handoff has to say into the agent's queue, once under each name.
func (h *handoffs) notifyAgent(agent alerts.AgentID, name, text string, mode alerts.Mode, now time.Time) {
	if h.dryRun {
		return
	}
	_, err := h.queue.Put(outbox.Message{
		To:        agent,
		Ref:       handoffRef + name,
		Mode:      mode,
		Text:      wording.Handoff + text,
		OwnWords:  true,
		Unmetered: true,
	}, now)
	if err != nil {
		h.log.Error("the outcome of a handoff cannot be queued", "agent", agent, "err", err)
	}
}

// report sends the failure of a handoff to the operator and to the agent, which
// may have lost its context without a document to read.
func (h *handoffs) report(x rotation.Report, now time.Time) {
	r := &x.Rotation
	h.log.Warn("handoff failed", "agent", r.Agent, "id", r.ID, "reason", r.Reason, "lost", x.Lost, "path", r.Path)
	what := "It keeps its context."
	if x.Lost {
		what = "Its context may have been cleared: look at it."
	}
	why := words(r.Reason)
	if r.Detail != "" {
		why += ": " + r.Detail
	}
	h.operator("handoff/"+string(r.ID), fmt.Sprintf("The handoff of %s failed: %s. %s", h.name(r.Agent), why, what))
	switch {
	case r.Reason == rotation.ReasonGone && !x.Lost && !r.Auto(): // the next session is given it
		h.effects.add(prepareEffect{rotation: *r, leave: true})
	case r.Reason == rotation.ReasonGone, !x.Lost && r.Auto():
	case !x.Lost:
		h.notifyAgent(r.Agent, string(r.ID)+"/failed", fmt.Sprintf(
			"The handoff with %s did not take place: %s. Your context is as it was. Call sm handoff again once that is mended.", r.Path, why),
			alerts.Sequential, now)
	default:
		h.notifyAgent(r.Agent, string(r.ID)+lostName, fmt.Sprintf(
			"A handoff may have cleared your context: %s. If you do not know what you were working on, read %s and continue from there.", words(r.Reason), cmp.Or(
				r.Plain,
				r.Read,
			)),
			alerts.Urgent, now)
	}
}

// opened takes back what was said of the context that is over, and lets one that was
// compacted hand over again.
func (h *handoffs) opened(x *alerts.Opened, now time.Time) {
	if x.Cause == alerts.CauseCompaction {
		h.step(rotation.Compacted{Agent: x.Agent}, now)
	}
	for _, m := range h.queue.Of(x.Agent) {
		if (m.State == outbox.Waiting || m.Calling) && strings.HasPrefix(m.Ref, handoffRef) &&
			!strings.HasSuffix(m.Ref, lostName) {
			if _, err := h.queue.Cancel(x.Agent, m.ID, now); err != nil {
				h.log.Debug("what was said of a handoff cannot be taken back", "id", m.ID, "err", err)
			}
		}
	}
}

// lostName ends the name of what is said of a context that may have been cleared.
const lostName = "/lost"

// unhelpful notifies an agent whose new context is full from the start.
func (h *handoffs) unhelpful(s rotation.AgentRecord, now time.Time) {
	h.log.Warn("a handoff did not help", "agent", s.Agent, "session", s.Session)
	h.operator(
		"handoff/"+s.Session+"/futile",
		fmt.Sprintf("The context of %s stands above the warning right after a handoff.", h.name(s.Agent)),
	)
	h.notifyAgent(s.Agent, s.Session+"/futile",
		"This new context stands above the warning from its start, so another handoff would not help. Shorten the document or what is loaded at the start.",
		alerts.Sequential, now)
}

// words is a reason as a text words it.
func words(reason string) string { return strings.ReplaceAll(reason, "_", " ") }

// name is what an agent is called in a text.
func (h *handoffs) name(agent alerts.AgentID) string {
	if s, ok := h.fleet.Location(agent); ok && s.Name != "" {
		return s.Name
	}
	return string(agent)
}

// typeOwn types what sm says to the client itself.
func (h *handoffs) typeOwn(e ownEffect) {
	agent := e.rotation.Agent
	if place, idle := h.delivery.idle(agent, time.Now()); idle { // or else the effect finds out, and has nothing typed
		e.place = place
	}
	h.agents.of(agent).typing.busy = true
	e.text = h.sanitise(e.text)
	h.effects.add(e)
}

// ownEffect types /clear or the resume prompt, or presses Enter where that stands already.
type ownEffect struct {
	rotation       rotation.Rotation
	text           string
	place          fleet.Place
	prompt, finish bool
}
