package observer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff"
	"sm/handoff/rotation"
	"sm/observer/fleet"
	"sm/transcript"
	"sm/transcript/wording"
)

// runsWithin is how long after the start of the observer each `sm run` has
// polled. A run that finds no observer retries every 10 s.
const runsWithin = 12 * time.Second

// rotate passes an input to the rotations and starts the resulting effects. A dry
// run rotates no agent.
func (c *core) rotate(in rotation.Input) {
	if !c.dryRun {
		c.perform(c.rotations.Step(in))
	}
}

// perform starts effects. They are carried out once the state is stored.
func (c *core) perform(effects []rotation.Effect) {
	for _, e := range effects {
		switch x := e.(type) {
		case rotation.Prepare:
			c.prepare(x.Rotation)
		case rotation.Type:
			c.typeOwn(x)
		case rotation.Restart:
			c.effect(func(context.Context) outcome {
				return func(c *core, _ time.Time) { // after the state is stored
					if r := c.rotations.Find(x.Rotation.ID); r.State == rotation.Clearing {
						c.order(r)
					}
				}
			})
		case rotation.Report:
			c.reportFailure(x)
		case rotation.Unhelpful:
			c.unhelpful(x.Agent)
		case rotation.Withdraw:
			c.withdraw(x.Rotation)
		case rotation.Executed:
			r := x.Rotation
			c.log.Info(
				"handoff confirmed",
				"agent", r.Agent,
				"id", r.ID,
				"path", r.Read,
				"session", r.Next,
			)
			at := c.fleet.Location(r.Agent).At
			c.freshen(r, at.PID, at.Start)
			c.consume(r.Channel, r.Document, r.Next, at.PID)
		}
	}
}

// passHandoffs schedules automatic handoffs, and continues handoffs that wait
// for their agent's prompt.
func (c *core) passHandoffs(now time.Time) {
	if c.dryRun {
		return
	}
	for agent, x := range c.agents {
		if x.run.restarts(now) {
			c.rotateByItself(agent, x)
		}
	}
	for _, agent := range c.rotations.Opens() {
		r := c.rotations.Open(agent)
		x := c.agents.look(agent)
		switch place, idle := c.idle(agent, now); {
		case idle && r.State == rotation.Scheduled && r.Made.Before(c.began) &&
			now.Sub(c.began) < runsWithin && !x.run.present(now):
			// Its sm run may not have polled since the observer started. An
			// older handoff waits for the poll.
		case idle && !x.typing.busy:
			in := rotation.Idle{
				Agent:   agent,
				Way:     c.way(agent, place, now),
				Session: c.sessionOf(agent),
				At:      now,
			}
			if r.State != rotation.Scheduled || in.Way != rotation.WayRestart ||
				c.app.o.Terminal == nil {
				c.rotate(in)
			} else if !now.Before(r.After) {
				c.beginRestart(r.ID, place, in)
			}
		case !idle && c.fleet.Gone(agent) && !x.run.lately(now):
			c.rotate(rotation.Gone{Agent: agent, At: now})
		}
	}
	c.perform(c.rotations.Tick(now))
}

// way returns how an agent's context can be cleared: `sm run` restarts its own
// client, and for other clients a command is typed.
func (c *core) way(agent string, at fleet.Place, now time.Time) rotation.Way {
	s := c.fleet.Location(agent)
	switch {
	case c.agents.look(agent).run.restarts(now):
		return rotation.WayRestart
	case c.app.o.Terminal == nil || at.PID == 0:
		return rotation.WayNone
	case c.clients.OfProvider(s.Provider).Threads && !s.Open: // its state is unknown
		return rotation.WayNew
	}
	return rotation.WayClear
}

// checkFirstReading reports the first context size of a session that a handoff
// has begun to the rotations.
func (c *core) checkFirstReading(ev *alerts.Event) {
	record := c.rotations.Agent(ev.Agent)
	if record.Session == "" || record.Judged || ev.At.Before(record.At) {
		return
	}
	high := c.settings.Alerts.Thresholds.Level(ev.Tokens, 0, transcript.Window{
		Tokens:   ev.Window,
		Reserved: ev.Reserved,
	}, c.engine.Agent(ev.Agent).Threshold) >= alerts.Warn
	c.rotate(rotation.First{
		Agent:   ev.Agent,
		Session: c.sessionOf(ev.Agent),
		High:    high,
	})
}

// resumeHandoffs continues the handoffs that were in progress when the last
// observer ended.
func (c *core) resumeHandoffs() {
	for _, r := range c.rotations.All() {
		switch {
		case r.State == rotation.Clearing && r.Way == rotation.WayRestart:
			c.order(r)
		case r.State == rotation.Confirmed:
			// These may have been done already; repeating them is harmless.
			c.consume(r.Channel, r.Document, r.Next, 0)
			if r.Next != "" && r.Next == c.sessionOf(r.Agent) {
				c.freshen(r, 0, "")
			}
		case r.Unused:
			c.withdraw(r)
		}
	}
}

// handoffRef is the prefix of Message.Ref for handoffs. lostName is the suffix
// for the message about a context that may have been cleared.
const (
	handoffRef = "handoff/"
	lostName   = "/lost"
)

// notifyAgent queues a text about a handoff for its agent, once for each name.
// Nothing is queued while no agent can be reached.
func (c *core) notifyAgent(agent, name, text string, mode alerts.Mode) {
	if !c.reachable("") {
		return
	}
	c.put(outbox.Message{
		To:        agent,
		Ref:       handoffRef + name,
		Mode:      mode,
		Text:      wording.Handoff + text,
		OwnWords:  true,
		Unmetered: true,
	}, time.Now())
}

// reportFailure sends the failure of a handoff to the operator and to the agent, which
// may have lost its context without a document to read.
func (c *core) reportFailure(x rotation.Report) {
	r := &x.Rotation
	c.log.Warn(
		"handoff failed",
		"agent", r.Agent,
		"id", r.ID,
		"reason", r.Reason,
		"lost", x.Lost,
		"path", r.Path,
	)
	reason := strings.ReplaceAll(r.Reason, "_", " ")
	why := reason
	if r.Detail != "" {
		why += ": " + r.Detail
	}
	what := "It keeps its context."
	if x.Lost {
		what = "Its context may have been cleared: look at it."
	}
	c.operator(
		handoffRef+r.ID,
		fmt.Sprintf("The handoff of %s failed: %s. %s", c.nameOf(r.Agent), why, what),
		"",
	)
	gone := r.Reason == rotation.ReasonGone
	switch {
	case x.Lost && !gone:
		c.notifyAgent(r.Agent, r.ID+lostName, fmt.Sprintf(
			"A handoff may have cleared your context: %s. If you do not know what you were working on, read %s and continue from there.",
			reason, cmp.Or(r.Plain, r.Read)), alerts.Urgent)
	case x.Lost || r.Auto():
	case gone: // keep the document for the agent's next session, or a new agent in the project
		a := c.app
		d := c.draft(*r)
		c.onDocuments(
			"the document of an agent that has ended is not kept",
			func(*handoff.Documents) error {
				_, err := a.put(d, time.Now())
				return err
			},
		)
	default:
		c.notifyAgent(r.Agent, r.ID+"/failed", fmt.Sprintf(
			"The handoff with %s did not take place: %s. Your context is as it was. Call sm handoff again once that is mended.",
			r.Path, why), alerts.Sequential)
	}
}

// takeBack withdraws the messages whose Ref begins with ref, unless they were
// delivered or are about a lost context. It returns how many it withdrew.
func (c *core) takeBack(agent string, ref string, now time.Time) (n int) {
	return c.queue.Withdraw(func(m *outbox.Message) bool {
		return m.To == agent && (m.State == outbox.Waiting || m.Calling) &&
			strings.HasPrefix(m.Ref, ref) && !strings.HasSuffix(m.Ref, lostName)
	}, now)
}

// unhelpful notifies an agent whose new context is full from the start.
func (c *core) unhelpful(s rotation.AgentRecord) {
	c.log.Warn("a handoff did not help", "agent", s.Agent, "session", s.Session)
	c.operator(
		handoffRef+s.Session+"/futile",
		fmt.Sprintf(
			"The context of %s is above the warning threshold right after a handoff.",
			c.nameOf(s.Agent),
		),
		"",
	)
	c.notifyAgent(s.Agent, s.Session+"/futile",
		"This new context is above the warning threshold from its start, so another handoff would not help. Shorten the document or what is loaded at the start.",
		alerts.Sequential)
}

// nameOf returns the name of an agent for texts.
func (c *core) nameOf(agent string) string {
	return cmp.Or(c.fleet.Location(agent).Name, agent)
}

// errFree ends a check of a prompt at which a text could be typed.
var errFree = errors.New("the prompt is free")

// beginRestart begins a handoff by a restart, unless that would discard what a
// person is doing at the client's prompt: then it is tried again later. A pane
// that cannot be checked does not prevent a restart.
func (c *core) beginRestart(id string, place fleet.Place, in rotation.Idle) {
	a := c.app
	c.agents.of(in.Agent).typing.busy = true
	still := a.still(func(c *core) bool {
		return c.waitsAt(c.rotations.Find(id).Agent, place)
	})
	c.effect(func(ctx context.Context) outcome {
		_, err := a.o.Terminal.Type(ctx, place, "/clear", false, func(ctx context.Context) error {
			return cmp.Or(still(ctx), errFree)
		})
		return func(c *core, now time.Time) {
			in.Agent = cmp.Or(c.rotations.Find(id).Agent, in.Agent) // the agent may have another id now
			in.At = now
			c.agents.of(in.Agent).typing = typingState{}
			if reason := reasonOf(err); slices.Contains(inUse(), reason) {
				c.rotate(rotation.Typed{ID: id, Reason: reason, At: now})
				return
			}
			c.rotate(in)
		}
	})
}

// inUse returns the reasons for which a client is not restarted: its user is
// writing or reading in it.
func inUse() []string {
	return []string{
		rotation.ReasonBusy, "draft", "dialog", "menu", "mode", "no_box", "shell_mode", "typing", "vim",
	}
}

// typeOwn types /clear or the resume prompt to an agent's client, if the client
// is still at the same place and the handoff is still in the same state.
func (c *core) typeOwn(x rotation.Type) {
	a := c.app
	id := x.Rotation.ID
	agent := x.Rotation.Agent
	place, idle := c.idle(agent, time.Now())
	c.agents.of(agent).typing.busy = true
	c.effect(func(ctx context.Context) outcome {
		typed := false
		err := errBusy
		if idle && place.PID != 0 {
			text := a.o.Sanitise(x.Text)
			typed, err = a.o.Terminal.Type(ctx, place, text, x.Finish, a.still(func(c *core) bool {
				r := c.rotations.Find(id)
				return r.State == x.Rotation.State && c.waitsAt(agent, place) &&
					(x.Prompt || c.sessionOf(agent) == r.Left)
			}))
		}
		return func(c *core, now time.Time) {
			owner := cmp.Or(c.rotations.Find(id).Agent, agent) // the agent may have got another id since
			c.agents.of(owner).typing = typingState{}
			level := slog.LevelInfo
			if err != nil {
				level = slog.LevelWarn
			}
			if x.Finish && !typed {
				level = slog.LevelDebug
			}
			c.log.Log(ctx, level, "handoff typed", "agent", owner, "id", id,
				"state", x.Rotation.State, "finish", x.Finish, "typed", typed, "err", err)
			c.rotate(rotation.Typed{
				ID:      id,
				Prompt:  x.Prompt,
				Finish:  x.Finish,
				Pressed: typed,
				Reason:  reasonOf(err),
				At:      now,
			})
		}
	})
}

// reasonOf returns the rotation's reason for an error of the terminal.
func reasonOf(err error) string {
	var worded interface{ Word() string }
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errBusy):
		return rotation.ReasonBusy
	case errors.As(err, &worded):
		return worded.Word()
	}
	return "unknown"
}
