package metrics

import (
	"strings"
	"time"

	"sm/alerts"
	"sm/observer/api"
)

// sessionGauge is a metric with at most one series for each session.
type sessionGauge struct {
	name, help string
	// value returns false while the figure is unknown; the session then has no series.
	value func(s *api.Session) (n float64, known bool)
}

func sessionGauges() []sessionGauge {
	return []sessionGauge{
		{"context_tokens", "Tokens in the context at the newest reply; absent while unknown, as after a compaction.",
			func(s *api.Session) (float64, bool) { return of(s.TokensUsed) }},
		{"context_window_tokens", "Size of the context window.",
			func(s *api.Session) (float64, bool) { return float64(s.WindowTokens), true }},
		{"context_ratio", "Share of the context window in use, 0 to 1, by the transcript; absent while unknown.",
			func(s *api.Session) (float64, bool) {
				n, known := of(s.TokensUsed)
				return min(
						1,
						n/float64(s.WindowTokens),
					), known &&
						s.ContextSource != "statusline"
			}},
		{"cleared_tokens", "Tokens of tool results that were left out of the newest request, and that count besides the context on the way to the compaction threshold; absent for none, and while the threshold is unknown.",
			func(s *api.Session) (float64, bool) {
				return float64(s.ClearedTokens), s.ClearedTokens > 0 && s.TokensUsed != nil &&
					s.ThresholdTokens != nil
			}},
		{"pressure_ratio", "Share of the compaction threshold that context and cleared tool results have reached, above 1 for a client that is late; absent while either is unknown.",
			func(s *api.Session) (float64, bool) { return of(s.Pressure) }},
		{"compacting", "1 while the client compacts.",
			func(s *api.Session) (float64, bool) { return truth(s.IsCompacting), true }},
		{"forecast_replies", "Replies of the model until the context reaches the compaction threshold, if it goes on to grow as it has; absent while unknown.",
			func(s *api.Session) (float64, bool) { r := forecast(s).Replies; return likely(r), r != nil }},
		{"forecast_replies_low", "Lower bound of agent_session_forecast_replies: four times out of five the replies lie between the bounds.",
			func(s *api.Session) (float64, bool) {
				if r := forecast(s).Replies; r != nil {
					return r.Low, true
				}
				return 0, false
			}},
		{"forecast_replies_high", "Upper bound of agent_session_forecast_replies: four times out of five the replies lie between the bounds.",
			func(s *api.Session) (float64, bool) {
				if r := forecast(s).Replies; r != nil {
					return r.High, true
				}
				return 0, false
			}},
		{"forecast_turns", "Turns until the context reaches the compaction threshold, if it goes on to grow as it has; absent while unknown.",
			func(s *api.Session) (float64, bool) { r := forecast(s).Turns; return likely(r), r != nil }},
		{"forecast_seconds", "The same in seconds of work.",
			func(s *api.Session) (float64, bool) { r := forecast(s).Seconds; return likely(r), r != nil }},
		{"statusline_ratio", "Share of the context window in use, 0 to 1, by the status line; absent while it does not know.",
			func(s *api.Session) (float64, bool) { return s.StatuslineRatio, s.StatuslineRatio > 0 }},
		{"drift_tokens", "How many tokens more the status line tells than the transcript; absent while there is nothing to compare.",
			func(s *api.Session) (float64, bool) { return of(s.DriftTokens) }},
		{"last_activity_timestamp_seconds", "When the session was last seen to do something: time of its newest record or of its file, whichever is later.",
			func(s *api.Session) (float64, bool) { return seconds(s.SeenAt), !s.SeenAt.IsZero() }},
		{"active", "1 while the session's client runs, or it did something in the last 10 minutes and is not known to have ended.",
			func(s *api.Session) (float64, bool) { return truth(s.IsActive), true }},
		{"cycle", "Number of the session's present cycle, the stretch between two compactions, clears or handoffs of its agent.",
			func(s *api.Session) (float64, bool) { return float64(s.Cycle), s.Cycle > 0 }},
		{"queued_messages", "Messages to the session's agent that have not ended; absent for none.",
			func(s *api.Session) (float64, bool) { return float64(s.Queued), s.Queued > 0 }},
		{"dear_compactions", "How many of the session's newest compactions in a row were followed by rereads of more tokens than after nine of ten compactions.",
			func(s *api.Session) (float64, bool) { return float64(s.DearCompactions), true }},
		{"cost_usd", "What the client reckons that the session has cost, in US dollars, by the status line; absent without one.",
			func(s *api.Session) (float64, bool) { return of(s.CostUSD) }},
		{"cache_hit_ratio", "Share of all input that was read from the cache, 0 to 1: by the status line, else by the transcript's tokens; absent while unknown.",
			func(s *api.Session) (float64, bool) { return of(s.CacheHitRatio) }},
		{"cache_expires_timestamp_seconds", "When the newest entry of the session's prompt cache expires, by the status line; absent while unknown.",
			func(s *api.Session) (float64, bool) {
				if s.CacheExpiresAt == nil {
					return 0, false
				}
				return float64(s.CacheExpiresAt.Unix()), true
			}},
	}
}

// of is a figure that is nil while unknown.
func of[T int64 | float64](n *T) (float64, bool) {
	if n == nil {
		return 0, false
	}
	return float64(*n), true
}

func forecast(s *api.Session) api.Forecast {
	if s.Forecast == nil {
		return api.Forecast{}
	}
	return *s.Forecast
}

func likely(r *api.Range) float64 {
	if r == nil {
		return 0
	}
	return r.Likely
}

// sessions adds the families that have series for each session.
func (b *builder) sessions(all []api.Session, hideProject bool) {
	const prefix = "agent_session_"
	for _, g := range sessionGauges() {
		b.gauge(prefix+g.name, g.help)
		for i := range all {
			if n, known := g.value(&all[i]); known {
				b.add(n, "session", all[i].Label)
			}
		}
	}
	b.gauge(prefix+"info", "What is known of a session besides figures; always 1.")
	for i := range all {
		b.info(&all[i], hideProject)
	}
	b.gauge(prefix+"level", "1 for the level that the context has reached, 0 for the others.")
	for i := range all {
		for _, level := range []alerts.Level{
			alerts.Critical,
			alerts.EarlyWarn,
			alerts.OK,
			alerts.Warn,
		} {
			b.add(
				truth(all[i].Level == level.String()),
				"level",
				level.String(),
				"session",
				all[i].Label,
			)
		}
	}
	b.gauge(
		prefix+"compaction_threshold_tokens",
		"Context size at which the client compacts by itself, and where that is from: configured, seen, assumed, refusal (when the API refuses a request), earliest (assumed, it may be later); absent while unknown.",
	)
	for i := range all {
		if n, known := of(all[i].ThresholdTokens); known {
			b.add(n, "session", all[i].Label, "source", all[i].ThresholdSource)
		}
	}
	b.gauge(
		prefix+"sample_timestamp_seconds",
		"When a source last told of the session's context: time of its newest reading, report or hook.",
	)
	for i := range all {
		b.samples(&all[i])
	}
	b.gauge(
		prefix+"state",
		"What the session does: busy, idle, waiting, shell, quiet, ended, other; always 1.",
	)
	for i := range all {
		if state := all[i].State; state != "" {
			b.add(1, "session", all[i].Label, "state", stateOf(state))
		}
	}
	b.counter(
		prefix+"compactions_total",
		"Compactions of the session since the state directory was made.",
	)
	for i := range all {
		b.triggers(&all[i].Counted, all[i].Label)
	}
	b.gauge(
		prefix+"transcript_compactions",
		"Compactions of the session that its transcript holds, without those copied from another session.",
	)
	for i := range all {
		b.triggers(&all[i].Compactions, all[i].Label)
	}
}

// info describes a session in words.
func (b *builder) info(s *api.Session, hideProject bool) {
	project := ""
	// Without a working directory the project would be the folder of the transcript, whose name holds all its parents.
	if !hideProject && strings.Trim(s.CWD, `/\`) != "" {
		project = tame(s.Project)
	}
	b.add(1, "client", s.Client, "model", tame(s.Model), "project", project, "session", s.Label,
		"session_id", tame(s.SessionID), "version", tame(s.Version), "window_source", s.WindowSource)
}

func (b *builder) samples(s *api.Session) {
	add := func(at time.Time, source string) {
		if !at.IsZero() {
			b.add(seconds(at), "session", s.Label, "source", source)
		}
	}
	add(s.EstimateAt, "estimate")
	if s.HookAt != nil {
		add(*s.HookAt, "hook")
	}
	if s.StatuslineAt != nil {
		add(*s.StatuslineAt, "statusline")
	}
	add(s.TranscriptAt, "transcript")
}

func (b *builder) triggers(c *api.Compactions, session string) {
	b.add(float64(c.Auto), "session", session, "trigger", "auto")
	b.add(float64(c.Manual), "session", session, "trigger", "manual")
	b.add(float64(c.Unknown), "session", session, "trigger", "unknown")
	b.add(float64(c.Idle), "session", session, "trigger", "idle")
}

// stateOf bounds the values of the label: the client's registry may have any word.
func stateOf(state string) string {
	switch state {
	case "busy", "ended", "idle", "quiet", "shell", "waiting":
		return state
	}
	return "other"
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
