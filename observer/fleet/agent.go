package fleet

import (
	"sm/alerts"
	"sm/observer/tally"
	"sm/transcript"
	"sm/transcript/clients"
)

// Agent is what is kept of an agent when more is known than one transcript: hooks or reports have
// come from it, it was registered, or it was seen in more than one session. Any
// other agent is no more than its session, and has the session's id.
type Agent struct {
	ID                     string
	Parent, Name, Provider string
	// Label names the agent in metrics.
	Label string
	// Session is the key of the agent's present session, "" for none; Since is when
	// that became known.
	Session string
	Since   transcript.Instant
	// Client is the client that the newest hook has named, "" for Claude Code. It decides where no transcript does.
	Client string
	// Resumed is the session that a SessionStart named. Another session may begin: after a fork
	// the old one is named.
	Resumed string
	// Carried is the time of the newest SessionStart of a fork or resume, whose
	// session begins with the context of another.
	Carried transcript.Instant
	// Registered agents were made known by name, not by a signal.
	Registered bool
	// Host is the agent that has started this one's client, which has inherited its
	// environment: what it says of itself there is the host's.
	Host string
	// Project is the directory in which its client was started.
	Project string
	// Tmux is the socket of the tmux server with process Server, Pane a %id.
	Tmux   string
	Server int
	Pane   string
	// PID and Start identify the client's process, 0 and "" while unknown. Runs means
	// that it was seen running on this machine and not seen to end.
	PID   int
	Start string
	Runs  bool
	// Ended is when the client of this session ended, by its last hook or because its
	// process was found to be gone; 0 for a client that may run. What is heard of the
	// session later shows that another client has taken it up.
	Ended transcript.Instant
	// Window is this session's window according to the status line, 0 for none.
	Window int64
	// AutoCompact has the client's settings for automatic compaction, nil if unknown.
	// The value is never changed in place.
	AutoCompact *clients.AutoCompact
	// Sample is the newest report of the status line that may count, Spoke the time of
	// the newest at all, Hooked that of the newest hook.
	Sample        Sample
	Spoke, Hooked transcript.Instant
	// Report is what else the status line said of this session.
	Report Report
	// Opening is valid until the session's next reading.
	Opening Opening `json:",omitzero"`
	// Limits are those of its account: five hours, seven days.
	Limits [2]Limit
	// Fresh is the session that began with this agent's client, by its SessionStart.
	Fresh string
	// HookedIn is the session in which the newest hook has come, "" for none: whether hooks
	// work may change with each session.
	HookedIn string
	// CWD is the folder in which the client was started, "" before the first hook.
	CWD string
	// Begun is when its session began or was taken up again, by the newest SessionStart.
	Begun transcript.Instant
	// Asks is what its client waits for a person for, as a hook said at Asked; "" once a later one has shown that it goes on.
	Asks  string
	Asked transcript.Instant
	// Counted are the agent's compactions since the state directory was made.
	Counted transcript.TriggerCounts
	// Mark is what the transcript held, in bytes, at the last compaction.
	Mark int64
}

// agent is an Agent with what is not stored.
type agent struct {
	Agent
	prompted transcript.Instant   // its newest prompt
	recent   []transcript.Reading // the newest readings of its session
}

// Report is what the status line said of the present session besides its context.
type Report struct {
	// Name is the one that the user gave the session, "" for none.
	Name string
	// Cost is the session's total.
	Cost tally.Cost
	// CacheHit is the share of all input that was read from the cache, 0 to 1.
	CacheHit      float64
	CacheHitKnown bool
	// CacheTTL is how long an entry of the prompt cache lives, CacheExpires when the
	// newest expires; "" and 0 while unknown.
	CacheTTL     string             `json:",omitempty"`
	CacheExpires transcript.Instant `json:",omitempty"`
}

// Opening is what the newest SessionStart reported of a resumed or forked session.
type Opening struct {
	At transcript.Instant
	// Tokens is the size of the context, CacheWriteUSD what the client expects that
	// writing it into the cache costs with the first request, in US dollars; 0 for
	// unknown.
	Tokens        int64
	CacheWriteUSD float64
}

// Limit is one window of an account's rate limits.
type Limit = transcript.Limit

func reset(a *agent, at transcript.Instant, cause alerts.Cause) alerts.Event {
	return alerts.Event{
		Kind:  alerts.EventReset,
		Agent: alerts.AgentID(a.ID),
		At:    at.Time(),
		Cause: cause,
		Key:   transcript.KeyOf([]byte(a.Session)),
	}
}

func (a *agent) process() Process { return Process{a.PID, a.Start} }

// inPane reports whether the agent is in that pane, as far as both are known.
func (a *agent) inPane(tmux string, server int, pane string) bool {
	return a.Pane != "" && a.Pane == pane && (a.Tmux == "" || tmux == "" || a.Tmux == tmux) &&
		(a.Server == 0 || server == 0 || a.Server == server)
}

func (a *agent) seen() alerts.Event {
	return alerts.Event{
		Kind:   alerts.EventSeen,
		Agent:  alerts.AgentID(a.ID),
		Parent: alerts.AgentID(a.Parent),
		Name:   a.Name,
	}
}
