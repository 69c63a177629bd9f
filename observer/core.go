package observer

import (
	"log/slog"
	"sync/atomic"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/catchup"
	"sm/observer/fleet"
	"sm/observer/levels"
	"sm/observer/metrics"
	"sm/observer/persist"
	"sm/transcript/clients"
)

// parts is what the loop and its collaborators work on. Only the loop's goroutine sees it.
type parts struct {
	settings  *Settings // at this event
	clients   clients.Table
	fleet     *fleet.Fleet
	engine    *alerts.Engine
	queue     *outbox.Queue
	rotations *rotation.Machine
	agents    agents
	log       *slog.Logger
	dryRun    bool
	demo      bool
	caughtUp  bool
	sanitise  func(string) string
	edits     *atomic.Uint64 // grows with whatever the page may have to show
	effects   effectList     // what to do once all that led to it is stored
	levels    levels.Changes // level files to write
}

// core is the state that the loop owns. Only functions sent to the loop see it. What is to be done it leaves to its
// collaborators: rules decides by the engine, handoffs carries out rotations, delivery brings messages to agents. Each
// knows those after it, and none knows core.
type core struct {
	*parts
	rules    *rules
	handoffs *handoffs
	delivery *delivery

	early catchup.Queue
	// held has updates from signals received during catch-up. They are applied when
	// it ends, after the history.
	held []fleet.Update

	hooks    persist.HookCounts
	unknown  map[metrics.Unknown]uint64 // names in transcripts
	roots    []rootChange               // not yet stored
	check    time.Time                  // when the queue wants to be asked
	activity time.Time                  // when activity was looked at last
	buried   time.Time                  // when ended processes were looked for last
	threads  time.Time                  // when it was looked who is in which thread of Codex
	forgot   time.Time                  // when old agents were forgotten last
	refused  map[string]refusedRestart  // by state file

	waiting  []chan<- error // who waits until all of this is stored
	signaled bool           // a signal that no transcript repeats is not stored yet
}

// reachable reports whether messages can reach agents at all.
func (p *parts) reachable(now time.Time) bool { return p.demo || p.fleet.Reachable(now) }

// operator sends the operator a text that is not one of the engine's notices.
func (p *parts) operator(key, text string) {
	if !p.dryRun {
		p.effects.add(operatorEffect{key, text})
	}
}

// rules gives the engine what happens to agents, and does what it decides: notices, levels, reminders and cycles.
type rules struct {
	*parts
	handoffs *handoffs
	ticked   time.Time // when the engine was asked last, and
	next     time.Time // when it wants to be asked
}

// handoffs carries out rotations: it gives them what happens, and turns what they want into effects.
type handoffs struct {
	*parts
	delivery *delivery
	began    time.Time
	rotated  time.Time // when it was looked whether they can go on
	registry bool      // what happens now was read in the client's registry
}

// delivery brings what waits in the queue to its agent: with the answer to a hook, typed at its prompt, in the prompt of a
// client that is restarted, or by the queue that Codex has of its own.
type delivery struct {
	*parts
	terminal Terminal
	enqueuer Enqueuer
	typed    time.Time // when it was looked who waits at a prompt
}

// effect is something to be done in the world, once all that led to it is stored. It is done by a quickEffect in its turn,
// or by a slowEffect beside all others.
type effect any

// effectList collects effects in their order.
type effectList []effect

func (l *effectList) add(e ...effect) { *l = append(*l, e...) }

// operatorEffect sends a notice to the operator.
type operatorEffect struct{ key, text string }

// refusedRestart is why the restart of a full session was refused, as the operator has heard, and
// when that was last seen.
type refusedRestart struct {
	reason string
	at     time.Time
}

// rootChange is a projects folder that is to be remembered, or forgotten.
type rootChange struct {
	path string
	kept bool
}
