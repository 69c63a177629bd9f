package observer

import (
	"cmp"
	"log/slog"
	"sync/atomic"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/fleet"
	"sm/observer/metrics"
	"sm/observer/notify"
	"sm/observer/persist"
	"sm/transcript/clients"
)

// core is the state that the loop owns. Only functions sent to the loop see it.
type core struct {
	app       *App
	log       *slog.Logger
	clients   clients.Table
	dryRun    bool
	settings  *Settings // at this event
	fleet     *fleet.Fleet
	engine    *alerts.Engine
	queue     *outbox.Queue
	rotations *rotation.Machine
	agents    agents
	edits     *atomic.Uint64 // grows with whatever the page may have to show

	caughtUp bool
	arrivals fleet.Arrivals
	// held has updates from signals received during catch-up. They are applied when
	// it ends, after the history.
	held []fleet.Update

	hooks   persist.HookCounts
	unknown map[metrics.Unknown]uint64 // names in transcripts
	refused map[string]string          // why a full session was not restarted, by state file

	writer writer
	// What the next batch stores, and what follows.
	effects  []effect
	notices  []notify.Notice // for the operator
	waiting  []waiter        // for all of this to be stored
	undo     func()          // of the change that is being made, for one that cannot be stored, or nil
	signaled bool            // a signal that no transcript repeats is not stored yet
	// levels are the lines of level files to write, by agent; they do not wait for the
	// batch. allLevels means that they are those of all agents.
	levels    map[string]string
	allLevels bool
	writing   bool // level files are being written

	passed map[string]time.Time // when the parts of pass last ran
	next   time.Time            // when the engine is asked

	began    time.Time
	registry bool // what happens now was read in the client's registry
}

// reachable reports whether messages can reach agents at all.
func (c *core) reachable(now time.Time) bool { return c.app.o.Demo || c.fleet.Reachable(now) }

// operator sends the operator a text that is not one of the engine's notices.
func (c *core) operator(key, text string) {
	c.notices = append(c.notices, notify.Notice{Key: key, Text: text})
}

// noticeWaits notifies the operator, once for each wait, of agents that have waited for a
// person for Settings.Waiting.
func (c *core) noticeWaits(now time.Time) {
	views, _ := c.recent(now, "")
	for _, v := range views {
		s := c.session(&v)
		asked := v.Asked.Time()
		if s.State != "waiting" || s.IsCompacting || now.Sub(asked) < c.settings.Waiting ||
			!asked.After(c.agents.look(s.ID).asked) {
			continue
		}
		c.agents.of(s.ID).asked = asked
		c.notices = append(c.notices, notify.Notice{
			Key: s.ID + "/waiting",
			Text: c.app.o.Sanitise(s.DisplayName() + " in " + s.Project + " waits for you: " +
				cmp.Or(s.WaitingFor, "an answer")),
			Log: s.ShortName() + " waits for you",
		})
	}
}

func (c *core) effect(e effect) { c.effects = append(c.effects, e) }
