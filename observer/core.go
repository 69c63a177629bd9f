package observer

import (
	"cmp"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/observer/metrics"
	"sm/observer/notify"
	"sm/observer/persist"
	"sm/transcript/clients"
	"sm/transcript/wording"
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
	edits     *atomic.Uint64 // grows with each change that the page may show

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

	unnamed []string // working directories whose projects the disk has not named yet
	naming  bool     // one is being looked at

	began    time.Time
	registry bool // what happens now was read in the client's registry
}

// reachable reports whether messages can reach an agent, or any with "".
func (c *core) reachable(agent string) bool {
	if agent != "" {
		agent = c.agentOf(agent)
	}
	return c.app.o.Demo || c.fleet.Reachable(agent, time.Now())
}

// agentOf returns the agent with this id, name, session or label; the id itself if there is none.
func (c *core) agentOf(id string) string {
	agent, err := c.fleet.Agent(id, true)
	if err != nil {
		return id
	}
	return agent
}

// title names a session for the operator, by its title and project.
func title(s *api.Session) string {
	if s.Project == "" {
		return s.DisplayName()
	}
	return s.DisplayName() + " in " + s.Project
}

// operator sends the operator a text; for the log it is another, if that is not "".
func (c *core) operator(key, text, log string) {
	c.notices = append(c.notices, notify.Notice{Key: key, Text: strings.Map(printable, text), Log: log})
}

// noticeWaits notifies the operator, once for each wait, of agents that have waited for a
// person for Settings.Waiting.
func (c *core) noticeWaits(now time.Time) {
	views, _ := c.fleet.Recent(now, c.settings.SessionTTL, "")
	for _, v := range views {
		asked := v.Asked.Time()
		if !v.Waits || now.Sub(asked) < c.settings.Waiting ||
			!asked.After(c.agents.look(v.Agent.ID).asked) {
			continue
		}
		s := c.session(&v)
		if s.State != "waiting" || s.IsCompacting {
			continue
		}
		c.agents.of(s.ID).asked = asked
		text := title(&s) + " waits for you: " + cmp.Or(s.WaitingFor, "an answer")
		c.operator(s.ID+"/waiting", text, s.ShortName()+" waits for you")
	}
}

// printable replaces what does not print by a space.
func printable(r rune) rune {
	if wording.Printable(r) {
		return r
	}
	return ' '
}

func (c *core) effect(e effect) { c.effects = append(c.effects, e) }
