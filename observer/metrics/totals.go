package metrics

import (
	"maps"
	"slices"
	"strings"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/observer/tally"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// Snapshot is what one scrape shows, all of the same moment.
type Snapshot struct {
	Sessions []api.Session
	// Unexported counts the sessions that Limit has left out.
	Unexported int
	// HideProject leaves the label project empty.
	HideProject bool

	Fleet    tally.Counters
	Limits   [2]fleet.Limit // five hours, seven days; zero while unknown
	Alerts   alerts.Counters
	Messages outbox.Counters
	Handoffs rotation.Counters
	Queued   int // messages that have not ended
	// Hooks counts hooks by event; those that never came are there too, with 0.
	Hooks map[hook.Event]uint64
	// Unknown counts names in transcripts that their reader does not know, since the
	// observer's start; absent ones are 0.
	Unknown map[Unknown]uint64
	// ReloadFailed means that the newest configuration does not hold, ReloadedAt when one
	// last did.
	ReloadFailed bool
	ReloadedAt   time.Time
}

// Unknown is what the unknown names in transcripts are counted by.
type Unknown struct {
	Client string
	Kind   transcript.UnknownKind
}

// Limit keeps at most so many sessions, 0 for all: active ones first, then those that were active last. It sorts them
// by label.
func (s *Snapshot) Limit(most int) {
	byLabel := func(x, y api.Session) int { return strings.Compare(x.Label, y.Label) }
	slices.SortFunc(s.Sessions, byLabel)
	if most <= 0 || len(s.Sessions) <= most {
		return
	}
	slices.SortStableFunc(s.Sessions, func(x, y api.Session) int {
		if x.IsActive != y.IsActive {
			return int(truth(y.IsActive) - truth(x.IsActive))
		}
		return y.SeenAt.Compare(x.SeenAt)
	})
	s.Unexported = len(s.Sessions) - most
	s.Sessions = s.Sessions[:most]
	slices.SortFunc(s.Sessions, byLabel)
}

// clientParts are the totals of each client. Attempts and storms are counted for all clients together, and so the first
// one has what the others leave.
func clientParts(s *Snapshot) []tally.Part {
	parts := append([]tally.Part{s.Fleet.Rest()}, s.Fleet.Others...)
	first := &parts[0]
	first.Attempts = s.Alerts.Attempts
	first.Storms = s.Alerts.Storms
	first.Limits = s.Limits
	for _, other := range s.Fleet.Others {
		for k, n := range other.Attempts {
			first.Attempts[k] -= min(n, first.Attempts[k])
		}
		first.Storms -= min(other.Storms, first.Storms)
	}
	return parts
}

// clients adds the totals of each client.
func (b *builder) clients(parts []tally.Part) {
	triggers := [...]string{"auto", "manual", "unknown", "idle"} // by transcript.Trigger
	b.counter(
		"agent_compactions_total",
		"Compactions since the state directory was made, each counted once.",
	)
	for _, p := range parts {
		for i, trigger := range triggers {
			b.add(float64(p.Compactions[i]), "client", p.Client, "trigger", trigger)
		}
	}
	b.counter(
		"agent_compaction_attempts_total",
		"Compactions that clients set out to make, by their hooks, since the state directory was made.",
	)
	for _, p := range parts {
		for i, trigger := range triggers {
			b.add(float64(p.Attempts[i]), "client", p.Client, "trigger", trigger)
		}
	}
	b.counter("agent_compaction_storms_total", "Storms of compactions, each counted once.")
	for _, p := range parts {
		b.add(float64(p.Storms), "client", p.Client)
	}
	b.histogram(
		"agent_compaction_duration_seconds",
		"Duration of compactions since the state directory was made, where the transcript tells it.",
	)
	for _, p := range parts {
		b.addHistogram(
			tally.DurationBounds(),
			p.Duration.Counts,
			p.Duration.Sum,
			"client",
			p.Client,
		)
	}
	b.histogram(
		"agent_compaction_pre_tokens",
		"Context size before compactions since the state directory was made.",
	)
	for _, p := range parts {
		b.addHistogram(
			tally.PreTokensBounds(),
			p.PreTokens.Counts,
			p.PreTokens.Sum,
			"client",
			p.Client,
		)
	}
	b.counter(
		"agent_tokens_total",
		"Tokens of API messages since the state directory was made, each message counted once; subagents included.",
	)
	for _, p := range parts {
		b.add(float64(p.Tokens.CacheCreation), "client", p.Client, "kind", "cache_creation")
		b.add(float64(p.Tokens.CacheRead), "client", p.Client, "kind", "cache_read")
		b.add(float64(p.Tokens.Input), "client", p.Client, "kind", "input")
		b.add(float64(p.Tokens.Output), "client", p.Client, "kind", "output")
	}
	b.gauge(
		"agent_rate_limit_used_ratio",
		"Share of the account's rate limit that is used, 0 to 1, by the newest report of a status line, or record of Codex; absent without one, and once the window has passed.",
	)
	b.limits(parts, func(l transcript.Limit) float64 { return l.Used })
	b.gauge(
		"agent_rate_limit_reset_timestamp_seconds",
		"When the window of that rate limit ends.",
	)
	b.limits(parts, func(l transcript.Limit) float64 { return seconds(l.Resets.Time()) })
}

func (b *builder) limits(parts []tally.Part, value func(l transcript.Limit) float64) {
	for _, p := range parts {
		for i, window := range [...]string{"five_hour", "seven_day"} {
			if l := p.Limits[i]; l.Resets != 0 {
				b.add(value(l), "client", p.Client, "window", window)
			}
		}
	}
}

// costs are what Claude Code's boundaries and sessions cost.
func (b *builder) costs(c *tally.Counters) {
	for kind, name := range [...]string{
		transcript.BilledCompaction: "compaction",
		transcript.BilledHandoff:    "handoff",
		transcript.BilledClear:      "clear",
	} {
		t := &c.Bills[kind]
		after := " in the 25 replies after a " + name + ", since the state directory was made."
		b.counter("agent_"+name+"_reads_total", "Calls that read a file"+after)
		b.add(float64(t.Reads), "client", fleet.Claude)
		b.counter(
			"agent_"+name+"_rereads_total",
			"Calls that read a file which the agent had read before"+after,
		)
		b.add(float64(t.Rereads), "client", fleet.Claude)
		b.counter(
			"agent_"+name+"_reread_tokens_total",
			"Tokens by which contexts grew by files read again"+after,
		)
		b.add(float64(t.Tokens), "client", fleet.Claude)
	}
	if c.Cost.Known {
		b.counter(
			"agent_cost_usd_total",
			"What clients reckon that their sessions have cost since the state directory was made, in US dollars, by the status line; a resumed session's old cost counts once.",
		)
		b.add(c.Cost.USD, "client", fleet.Claude)
	}
}

// read is what was read of transcripts.
func (b *builder) read(s *Snapshot, parts []tally.Part) {
	b.counter(
		"sm_transcript_lines_total",
		"Transcript lines read, history included; bad ones are no JSON objects.",
	)
	b.add(float64(s.Fleet.Lines.Bad), "result", "bad")
	b.add(float64(s.Fleet.Lines.Good), "result", "ok")
	b.counter(
		"sm_transcript_bytes_total",
		"Bytes of transcript lines read, history included.",
	)
	b.add(float64(s.Fleet.Bytes))
	b.counter(
		"sm_transcript_unknown_total",
		"Records, subtypes and usage members in transcripts whose names are unknown, since the observer's start; their names are logged at the level debug.",
	)
	clients := map[string]bool{}
	for _, p := range parts {
		clients[p.Client] = true
	}
	for u := range s.Unknown {
		clients[u.Client] = true
	}
	for _, client := range slices.Sorted(maps.Keys(clients)) {
		for kind := range transcript.UnknownKinds {
			b.add(
				float64(s.Unknown[Unknown{client, kind}]),
				"client",
				client,
				"kind",
				kind.String(),
			)
		}
	}
}

// messages are notices and messages to agents, and what was received from them.
func (b *builder) messages(s *Snapshot) {
	b.counter(
		"sm_notices_total",
		"Notices, by what they are about; one that goes to several counts once.",
	)
	for _, kind := range alerts.Kinds() {
		b.add(float64(s.Alerts.Notices[kind]), "kind", kind.String())
	}
	b.counter(
		"sm_messages_total",
		"Messages to agents that have ended, by the way they went last and by what became of them.",
	)
	for _, outcome := range outbox.Outcomes() {
		for _, via := range outbox.Carriers() {
			b.add(
				float64(s.Messages.Count(via, outcome)),
				"outcome",
				outcome.String(),
				"via",
				via.String(),
			)
		}
	}
	b.gauge("sm_queue_messages", "Messages to agents that have not ended.")
	b.add(float64(s.Queued))
	b.counter(
		"sm_handoffs_total",
		"Handoffs that have ended, by outcome, and calls that were turned away: refused, by the breaker, or as futile.",
	)
	for _, outcome := range rotation.Outcomes() {
		b.add(float64(s.Handoffs.Count(outcome)), "outcome", outcome)
	}
	b.counter("sm_reminders_total", "Reminders that were due, by what became of them.")
	for outcome, n := range s.Alerts.Reminders {
		b.add(float64(n), "outcome", alerts.ReminderOutcome(outcome).String())
	}
	b.counter(
		"sm_hook_events_total",
		"Hooks of clients, by event; StatusLine is a report of the status line.",
	)
	for _, event := range slices.Sorted(maps.Keys(s.Hooks)) {
		b.add(float64(s.Hooks[event]), "event", string(event))
	}
}
