package metrics

import (
	"maps"
	"slices"

	dto "github.com/prometheus/client_model/go"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/fleet"
	"sm/observer/tally"
	"sm/transcript"
)

// totals adds the figures of all sessions together.
func (b *builder) totals(s *Snapshot) {
	b.compactionTotals(s)
	b.accounts(s)
	b.readTotals(&s.Fleet)
	b.unknown(s)
	b.notices(s)
	b.gauge("sm_sessions_unexported", "Sessions beyond metrics.max_sessions, which have no series here.")
	b.add(float64(s.Unexported))
}

// clientParts are the totals of each client. Attempts and storms are counted for all clients together, and so the first
// one has what the others leave.
func clientParts(s *Snapshot) []tally.Part {
	parts := append([]tally.Part{s.Fleet.Rest()}, s.Fleet.Others...)
	parts[0].Attempts = s.Alerts.Attempts
	parts[0].Storms = s.Alerts.Storms
	for i := range s.Fleet.Others {
		for k, n := range s.Fleet.Others[i].Attempts {
			parts[0].Attempts[k] -= min(n, parts[0].Attempts[k])
		}
		parts[0].Storms -= min(s.Fleet.Others[i].Storms, parts[0].Storms)
	}
	return parts
}

func (b *builder) compactionTotals(s *Snapshot) {
	parts := clientParts(s)
	labels := make([]*dto.LabelPair, len(parts))
	for i := range parts {
		labels[i] = b.label("client", parts[i].Client)
	}
	b.counter("agent_compactions_total", "Compactions since the state directory was made, each counted once.")
	for k := range parts {
		for i, trigger := range b.triggers() {
			b.add(float64(parts[k].Compactions[i]), labels[k], trigger)
		}
	}
	b.counter(
		"agent_compaction_attempts_total",
		"Compactions that clients set out to make, by their hooks, since the state directory was made.",
	)
	for k := range parts {
		for i, trigger := range b.triggers() {
			b.add(float64(parts[k].Attempts[i]), labels[k], trigger)
		}
	}
	b.counter("agent_compaction_storms_total", "Storms of compactions, each counted once.")
	for k := range parts {
		b.add(float64(parts[k].Storms), labels[k])
	}
	b.histogram(
		"agent_compaction_duration_seconds",
		"Duration of compactions since the state directory was made, where the transcript tells it.",
	)
	for k := range parts {
		b.addHistogram(tally.DurationBounds(), parts[k].Duration.Counts, parts[k].Duration.Sum, labels[k])
	}
	b.histogram("agent_compaction_pre_tokens", "Context size before compactions since the state directory was made.")
	for k := range parts {
		b.addHistogram(tally.PreTokensBounds(), parts[k].PreTokens.Counts, parts[k].PreTokens.Sum, labels[k])
	}
	b.counter(
		"agent_tokens_total",
		"Tokens of API messages since the state directory was made, each message counted once; subagents included.",
	)
	for k := range parts {
		t := &parts[k].Tokens
		b.add(float64(t.CacheCreation), labels[k], b.label("kind", "cache_creation"))
		b.add(float64(t.CacheRead), labels[k], b.label("kind", "cache_read"))
		b.add(float64(t.Input), labels[k], b.label("kind", "input"))
		b.add(float64(t.Output), labels[k], b.label("kind", "output"))
	}
}

// accounts are what all sessions cost, and how far the rate limits of their account are used.
func (b *builder) accounts(s *Snapshot) {
	client := b.label("client", fleet.Claude)
	for kind, name := range [...]string{
		transcript.BilledCompaction: "compaction",
		transcript.BilledHandoff:    "handoff",
		transcript.BilledClear:      "clear",
	} {
		t := &s.Fleet.Bills[kind]
		after := " in the 25 replies after a " + name + ", since the state directory was made."
		b.counter("agent_"+name+"_reads_total", "Calls that read a file"+after)
		b.add(float64(t.Reads), client)
		b.counter("agent_"+name+"_rereads_total", "Calls that read a file which the agent had read before"+after)
		b.add(float64(t.Rereads), client)
		b.counter("agent_"+name+"_reread_tokens_total", "Tokens by which contexts grew by files read again"+after)
		b.add(float64(t.Tokens), client)
	}
	if cost := s.Fleet.Cost; cost.Known {
		b.counter(
			"agent_cost_usd_total",
			"What clients reckon that their sessions have cost since the state directory was made, in US dollars, by the status line; a resumed session's old cost counts once.",
		)
		b.add(cost.USD, client)
	}
	type account struct {
		client *dto.LabelPair
		limits [2]transcript.Limit
	}
	accounts := []account{{client, s.Limits}}
	for i := range s.Fleet.Others {
		p := &s.Fleet.Others[i]
		accounts = append(accounts, account{b.label("client", p.Client), p.Limits})
	}
	windows := b.labelsOf("window", "five_hour", "seven_day")
	each := func(value func(l transcript.Limit) float64) {
		for _, a := range accounts {
			for i, l := range a.limits {
				if l.Resets != 0 {
					b.add(value(l), a.client, windows[i])
				}
			}
		}
	}
	b.gauge(
		"agent_rate_limit_used_ratio",
		"Share of the account's rate limit that is used, 0 to 1, by the newest report of a status line, or record of Codex; absent without one, and once the window has passed.",
	)
	each(func(l transcript.Limit) float64 { return l.Used })
	b.gauge("agent_rate_limit_reset_timestamp_seconds", "When the window of that rate limit ends.")
	each(func(l transcript.Limit) float64 { return seconds(l.Resets.Time()) })
}

// readTotals are what was read of transcripts.
func (b *builder) readTotals(c *tally.Counters) {
	b.counter("sm_transcript_lines_total", "Transcript lines read, history included; bad ones are no JSON objects.")
	b.add(float64(c.Lines.Bad), b.label("result", "bad"))
	b.add(float64(c.Lines.Good), b.label("result", "ok"))
	b.counter("sm_transcript_bytes_total", "Bytes of transcript lines read, history included.")
	b.add(float64(c.Bytes))
}

// unknown counts what the transcripts of each client hold that their readers do not know.
func (b *builder) unknown(s *Snapshot) {
	b.counter(
		"sm_transcript_unknown_total",
		"Records, subtypes and usage members in transcripts whose names are unknown, since the observer's start; their names are logged at the level debug.",
	)
	names := []string{fleet.Claude}
	for i := range s.Fleet.Others {
		names = append(names, s.Fleet.Others[i].Client)
	}
	for u := range s.Unknown {
		names = append(names, u.Client)
	}
	slices.Sort(names)
	for _, client := range slices.Compact(names) {
		for kind := range transcript.UnknownKinds {
			b.add(float64(s.Unknown[Unknown{client, kind}]), b.label("client", client), b.label("kind", kind.String()))
		}
	}
}

// notices are what was said to agents, what became of it, and what was heard of them.
func (b *builder) notices(s *Snapshot) {
	b.counter("sm_notices_total", "Notices, by what they are about; one that goes to several counts once.")
	kinds := alerts.Kinds()
	for _, kind := range inOrder(kinds[:], alerts.Kind.String) {
		b.add(float64(s.Alerts.Notices[kind]), b.label("kind", kind.String()))
	}
	b.counter(
		"sm_messages_total",
		"Messages to agents that have ended, by the way they went last and by what became of them.",
	)
	outcomes := outbox.Outcomes()
	carriers := outbox.Carriers()
	for _, outcome := range inOrder(outcomes[:], outbox.State.String) {
		for _, via := range inOrder(carriers[:], outbox.Carrier.String) {
			b.add(
				float64(s.Messages.Count(via, outcome)),
				b.label("outcome", outcome.String()),
				b.label("via", via.String()),
			)
		}
	}
	b.gauge("sm_queue_messages", "Messages to agents that have not ended.")
	b.add(float64(s.Queued))
	b.counter(
		"sm_handoffs_total",
		"Handoffs that have ended, by outcome, and calls that were turned away: refused, by the breaker, or as futile.",
	)
	handoffs := rotation.Outcomes()
	for _, outcome := range slices.Sorted(slices.Values(handoffs[:])) {
		b.add(float64(s.Handoffs.Count(outcome)), b.label("outcome", outcome))
	}
	b.counter("sm_reminders_total", "Reminders that were due, by what became of them.")
	for _, outcome := range []alerts.ReminderOutcome{
		alerts.ReminderCancelled,
		alerts.ReminderLate,
		alerts.ReminderSent,
		alerts.ReminderSkipped,
	} {
		b.add(float64(s.Alerts.Reminders[outcome]), b.label("outcome", outcome.String()))
	}
	b.counter("sm_hook_events_total", "Hooks of clients, by event; StatusLine is a report of the status line.")
	for _, event := range slices.Sorted(maps.Keys(s.Hooks)) {
		b.add(float64(s.Hooks[event]), b.label("event", string(event)))
	}
}
