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

// core is the state that the loop owns. Only functions that run in the loop use
// it.
type core struct {
	app       *App
	log       *slog.Logger
	clients   clients.Table
	dryRun    bool
	settings  *Settings // fixed during an event
	fleet     *fleet.Fleet
	engine    *alerts.Engine
	queue     *outbox.Queue
	rotations *rotation.Machine
	agents    agents
	edits     *atomic.Uint64 // grows with each change that the page may show

	caughtUp bool
	arrivals fleet.Arrivals
	// deferred has updates from signals received during catch-up. They are
	// applied when it ends, after the history.
	deferred []fleet.Update

	hooks   persist.HookCounts
	unknown map[metrics.Unknown]uint64 // names in transcripts
	refused map[string]string          // why a full session was not restarted, by state file

	writer writer
	// Parts of the next batch.
	effects  []effect
	notices  []notify.Notice // for the operator
	waiting  []waiter
	undo     func() // reverts the change that is being made; nil for none
	signaled bool   // a signal that no transcript repeats is not stored yet
	// levels has the lines of level files to write, by agent. They do not wait
	// for the batch. allLevels means that levels has all agents.
	levels    map[string]string
	allLevels bool
	writing   bool // level files are being written

	passed map[string]time.Time // when each periodic check last ran, see every
	next   time.Time            // next tick of the engine

	unnamed []string // working directories whose project was not looked up on the disk yet
	naming  bool     // a lookup is running

	began    time.Time
	registry bool // the update being applied is from the client's registry
}

// reachable reports whether messages can reach an agent, or with "" any agent.
func (c *core) reachable(agent string) bool {
	if agent != "" {
		agent = c.agentOf(agent)
	}
	return c.app.o.Demo || c.fleet.Reachable(agent, time.Now())
}

// agentOf returns the id of the agent with this id, name, session or label, or
// the argument if there is none.
func (c *core) agentOf(id string) string {
	agent, err := c.fleet.Agent(id, true)
	if err != nil {
		return id
	}
	return agent
}

// title returns the title and project of a session, for the operator.
func title(s *api.Session) string {
	if s.Project == "" {
		return s.DisplayName()
	}
	return s.DisplayName() + " in " + s.Project
}

// operator sends the operator a notice. log replaces its text in the log, if
// not "".
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

// printable maps unprintable characters to a space.
func printable(r rune) rune {
	if wording.Printable(r) {
		return r
	}
	return ' '
}

func (c *core) effect(e effect) { c.effects = append(c.effects, e) }
