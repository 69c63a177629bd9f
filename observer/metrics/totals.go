package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/observer/persist"
	"sm/observer/tally"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// Snapshot has the values of one scrape, all of the same moment.
type Snapshot struct {
	Sessions []api.Session
	// Unexported counts the sessions that Limit has removed.
	Unexported int
	// HideProject leaves the label project empty.
	HideProject bool

	Fleet    tally.Counters
	Limits   [2]fleet.Limit // five hours, seven days; zero while unknown
	Alerts   alerts.Counters
	Messages outbox.Counters
	Handoffs rotation.Counters
	Queued   int // messages that have not ended
	// Hooks counts hooks by event; absent ones are 0.
	Hooks map[hook.Event]uint64
	// Unknown counts unknown names in transcripts since the observer's start;
	// absent ones are 0.
	Unknown map[Unknown]uint64
	// ReloadFailed means that the newest configuration is invalid. ReloadedAt
	// is when a valid one was last read.
	ReloadFailed bool
	ReloadedAt   time.Time
}

// Unknown is the key by which unknown names in transcripts are counted.
type Unknown struct {
	Client string
	Kind   transcript.UnknownKind
}

// Limit keeps at most most sessions, 0 for all: active ones first, then those
// that were last active. It sorts them by label.
func (s *Snapshot) Limit(most int) {
	byLabel := func(x, y api.Session) int { return strings.Compare(x.Label, y.Label) }
	if most > 0 && len(s.Sessions) > most {
		slices.SortFunc(s.Sessions, func(x, y api.Session) int {
			return cmp.Or(
				truth(y.IsActive)-truth(x.IsActive),
				y.SeenAt.Compare(x.SeenAt),
				byLabel(x, y),
			)
		})
		s.Unexported = len(s.Sessions) - most
		s.Sessions = s.Sessions[:most]
	}
	slices.SortFunc(s.Sessions, byLabel)
}

// clientParts returns the totals of each client. Attempts and storms are
// counted for all clients together: the first part gets the rest.
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
func (b builder) clients(parts []tally.Part) {
	windows := [...]string{"five_hour", "seven_day"}
	for _, p := range parts {
		for trigger, n := range p.Compactions {
			labels := []string{"client", p.Client, "trigger", transcript.Trigger(trigger).String()}
			add(b, "agent_compactions_total", n, labels...)
			add(b, "agent_compaction_attempts_total", p.Attempts[trigger], labels...)
		}
		add(b, "agent_compaction_storms_total", p.Storms, "client", p.Client)
		b.addHistogram("agent_compaction_duration_seconds",
			tally.DurationBounds(), &p.Duration, "client", p.Client)
		b.addHistogram("agent_compaction_pre_tokens",
			tally.PreTokensBounds(), &p.PreTokens, "client", p.Client)
		tokens := func(n int64, kind string) {
			add(b, "agent_tokens_total", n, "client", p.Client, "kind", kind)
		}
		tokens(p.Tokens.CacheCreation, "cache_creation")
		tokens(p.Tokens.CacheRead, "cache_read")
		tokens(p.Tokens.Input, "input")
		tokens(p.Tokens.Output, "output")
		for i, window := range windows {
			if l := p.Limits[i]; l.Resets != 0 {
				labels := []string{"client", p.Client, "window", window}
				add(b, "agent_rate_limit_used_ratio", l.Used, labels...)
				add(
					b,
					"agent_rate_limit_reset_timestamp_seconds",
					seconds(l.Resets.Time()),
					labels...,
				)
			}
		}
	}
}

// costs adds the costs of Claude Code's boundaries and sessions.
func (b builder) costs(c *tally.Counters) {
	for kind, t := range c.Bills {
		name := transcript.Billed(kind).String()
		add(b, "agent_"+name+"_reads_total", t.Reads, "client", fleet.Claude)
		add(b, "agent_"+name+"_rereads_total", t.Rereads, "client", fleet.Claude)
		add(b, "agent_"+name+"_reread_tokens_total", t.Tokens, "client", fleet.Claude)
	}
	if c.Cost.Known {
		add(b, "agent_cost_usd_total", c.Cost.USD, "client", fleet.Claude)
	}
}

// read adds the counters of reading transcripts.
func (b builder) read(s *Snapshot, parts []tally.Part) {
	add(b, "sm_transcript_lines_total", s.Fleet.Lines.Bad, "result", "bad")
	add(b, "sm_transcript_lines_total", s.Fleet.Lines.Good, "result", "ok")
	add(b, "sm_transcript_bytes_total", s.Fleet.Bytes)
	clients := map[string]bool{}
	for _, p := range parts {
		clients[p.Client] = true
	}
	for u := range s.Unknown {
		clients[u.Client] = true
	}
	for _, client := range slices.Sorted(maps.Keys(clients)) {
		for kind := range transcript.UnknownKinds {
			add(b, "sm_transcript_unknown_total", s.Unknown[Unknown{client, kind}],
				"client", client, "kind", kind.String())
		}
	}
}

// messages adds the counters of notices, messages, handoffs, reminders and
// hooks.
func (b builder) messages(s *Snapshot) {
	for kind, n := range s.Alerts.Notices {
		add(b, "sm_notices_total", n, "kind", alerts.Kind(kind).String())
	}
	for via := range outbox.Carriers {
		for outcome := outbox.Confirmed; outcome < outbox.States; outcome++ {
			add(b, "sm_messages_total", s.Messages.Count(via, outcome),
				"outcome", outcome.String(), "via", via.String())
		}
	}
	add(b, "sm_queue_messages", s.Queued)
	for _, outcome := range rotation.Outcomes() {
		add(b, "sm_handoffs_total", s.Handoffs[outcome], "outcome", outcome)
	}
	for outcome, n := range s.Alerts.Reminders {
		add(b, "sm_reminders_total", n, "outcome", alerts.ReminderOutcome(outcome).String())
	}
	for _, event := range append(hook.Events(), persist.OtherHook) {
		add(b, "sm_hook_events_total", s.Hooks[event], "event", string(event))
	}
}
