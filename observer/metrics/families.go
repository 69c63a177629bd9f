package metrics

import (
	"cmp"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"

	"sm/alerts"
	"sm/transcript"
)

// row is a session with the label that all its series have.
type row struct {
	*Session
	label *dto.LabelPair
}

// sessions adds the families that have series for each session.
func (b *builder) sessions(s *Snapshot) {
	rows := make([]row, len(s.Sessions))
	for i, v := range s.Sessions {
		rows[i] = row{v, b.label("session", v.Label)}
	}
	b.info(rows, s.HideProject)
	b.contexts(rows)
	b.thresholds(rows)
	b.statuslines(rows)
	b.activity(rows)
	b.compactions(rows)
	b.money(rows)
}

// info describes the sessions in words.
func (b *builder) info(rows []row, hideProject bool) {
	b.gauge("agent_session_info", "What is known of a session besides figures; always 1.")
	for _, v := range rows {
		project := ""
		// Without a working directory the project would be the folder of the transcript, whose name holds all its parents.
		if !hideProject && strings.Trim(v.CWD, `/\`) != "" {
			project = tame(v.Project)
		}
		b.add(1, b.label("client", v.Program), b.label("model", tame(v.Model)), b.label("project", project), v.label,
			b.label(
				"session_id",
				tame(v.SessionID),
			), b.label(
				"version",
				tame(v.Version),
			), b.label(
				"window_source",
				v.Window.Source.String(),
			))
	}
}

// each adds a gauge with a series for each session whose value is known.
func (b *builder) each(rows []row, name, help string, value func(v *row) (n float64, known bool)) {
	b.gauge(name, help)
	for i := range rows {
		if n, known := value(&rows[i]); known {
			b.add(n, rows[i].label)
		}
	}
}

// always is a value that is known of every session.
func always(value func(v *row) float64) func(*row) (float64, bool) {
	return func(v *row) (float64, bool) { return value(v), true }
}

// contexts are the figures of the sessions' contexts.
func (b *builder) contexts(rows []row) {
	b.each(rows, "agent_session_context_tokens", "Tokens in the context at the newest reply; absent while unknown, as after a compaction.",
		func(v *row) (float64, bool) { n := v.tokens(); return float64(n), n > 0 })
	b.each(rows, "agent_session_context_window_tokens", "Size of the context window.",
		always(func(v *row) float64 { return float64(v.Window.Tokens) }))
	b.each(rows, "agent_session_context_ratio", "Share of the context window in use, 0 to 1, by the transcript; absent while unknown.",
		func(v *row) (float64, bool) { return min(1, float64(v.Tokens)/float64(v.Window.Tokens)), v.Known })
	b.gauge("agent_session_level", "1 for the level that the context has reached, 0 for the others.")
	levels := b.labelsOf(
		"level",
		alerts.Critical.String(),
		alerts.EarlyWarn.String(),
		alerts.OK.String(),
		alerts.Warn.String(),
	)
	for _, v := range rows {
		is := v.level()
		for _, level := range levels {
			b.add(truth(is == level.GetValue()), level, v.label)
		}
	}
}

// thresholds say how far the next compaction is.
func (b *builder) thresholds(rows []row) {
	b.gauge(
		"agent_session_compaction_threshold_tokens",
		"Context size at which the client compacts by itself, and where that is from: configured, seen, assumed, refusal (when the API refuses a request), earliest (assumed, it may be later); absent while unknown.",
	)
	sources := map[string]*dto.LabelPair{}
	for _, s := range []string{"assumed", "refusal", "earliest", "seen", "configured"} {
		sources[s] = b.label("source", s)
	}
	for _, v := range rows {
		if v.Policy.Threshold <= 0 {
			continue
		}
		source := v.Policy.ThresholdSource.String()
		if v.Policy.ThresholdSource == alerts.ThresholdAssumed {
			source = cmp.Or(string(v.Basis), source)
		}
		b.add(float64(v.Policy.Threshold), v.label, sources[source])
	}
	b.each(rows, "agent_session_cleared_tokens", "Tokens of tool results that were left out of the newest request, and that count besides the context on the way to the compaction threshold; absent for none, and while the threshold is unknown.",
		func(v *row) (float64, bool) {
			return float64(v.Cleared), v.Cleared > 0 && v.tokens() > 0 && v.Policy.Threshold > 0
		})
	b.each(rows, "agent_session_pressure_ratio", "Share of the compaction threshold that context and cleared tool results have reached, above 1 for a client that is late; absent while either is unknown.",
		func(v *row) (float64, bool) { return v.Policy.Ratio, v.Policy.Pressure != alerts.PressureUnknown })
	b.each(rows, "agent_session_compacting", "1 while the client compacts.",
		always(func(v *row) float64 { return truth(v.Policy.Compacting && !v.Ended) }))
	b.each(rows, "agent_session_forecast_replies", "Replies of the model until the context reaches the compaction threshold, if it goes on to grow as it has; absent while unknown.",
		func(v *row) (float64, bool) { return v.Policy.Forecast.Replies.Likely, v.Policy.Forecast.Replies.Known })
	b.each(rows, "agent_session_forecast_replies_low", "Lower bound of agent_session_forecast_replies: four times out of five the replies lie between the bounds.",
		func(v *row) (float64, bool) { return v.Policy.Forecast.Replies.Low, v.Policy.Forecast.Replies.Known })
	b.each(rows, "agent_session_forecast_replies_high", "Upper bound of agent_session_forecast_replies: four times out of five the replies lie between the bounds.",
		func(v *row) (float64, bool) { return v.Policy.Forecast.Replies.High, v.Policy.Forecast.Replies.Known })
	b.each(rows, "agent_session_forecast_turns", "Turns until the context reaches the compaction threshold, if it goes on to grow as it has; absent while unknown.",
		func(v *row) (float64, bool) { return v.Policy.Forecast.Turns.Likely, v.Policy.Forecast.Turns.Known })
	b.each(rows, "agent_session_forecast_seconds", "The same in seconds of work.",
		func(v *row) (float64, bool) { return v.Policy.Forecast.Active.Likely, v.Policy.Forecast.Active.Known })
}

// statuslines say how the status line agrees.
func (b *builder) statuslines(rows []row) {
	b.each(rows, "agent_session_statusline_ratio", "Share of the context window in use, 0 to 1, by the status line; absent while it does not know.",
		func(v *row) (float64, bool) {
			if x := v.Sample; x.Tokens > 0 && x.Window > 0 {
				return min(1, float64(x.Tokens)/float64(x.Window)), true
			}
			return float64(v.Sample.Percent) / 100, v.Sample.Percent > 0
		})
	b.each(rows, "agent_session_drift_tokens", "How many tokens more the status line tells than the transcript; absent while there is nothing to compare.",
		func(v *row) (float64, bool) { return float64(v.Drift), v.DriftKnown })
}

// activity says when the sessions did something.
func (b *builder) activity(rows []row) {
	b.gauge(
		"agent_session_sample_timestamp_seconds",
		"When a source last told of the session's context: time of its newest reading, report or hook.",
	)
	sources := b.labelsOf("source", "estimate", "hook", "statusline", "transcript")
	for _, v := range rows {
		at := [...]time.Time{{}, v.Hooked, v.Spoke, {}}
		switch v.Source {
		case transcript.FromEstimate:
			at[0] = v.Reading
		case transcript.FromTranscript:
			at[3] = v.Reading
		}
		for i, source := range sources {
			if !at[i].IsZero() {
				b.add(seconds(at[i]), v.label, source)
			}
		}
	}
	b.each(rows, "agent_session_last_activity_timestamp_seconds", "When the session was last seen to do something: time of its newest record or of its file, whichever is later.",
		func(v *row) (float64, bool) { seen := v.Seen(); return seconds(seen), !seen.IsZero() })
	b.each(rows, "agent_session_active", "1 while the session's client runs, or it did something in the last 10 minutes and is not known to have ended.",
		always(func(v *row) float64 { return truth(v.Live) }))
	b.gauge("agent_session_state", "What the session does: busy, idle, waiting, shell, quiet, ended, other; always 1.")
	for _, v := range rows {
		if v.State != "" {
			b.add(1, v.label, b.label("state", stateOf(v.State)))
		}
	}
	b.each(rows, "agent_session_cycle", "Number of the session's present cycle, the stretch between two compactions, clears or handoffs of its agent.",
		func(v *row) (float64, bool) { n := cmp.Or(v.Policy.Cycle, v.Cycle); return float64(n), n > 0 })
	b.each(rows, "agent_session_queued_messages", "Messages to the session's agent that have not ended; absent for none.",
		func(v *row) (float64, bool) { return float64(v.Queued), v.Queued > 0 })
}

// stateOf bounds the values of the label: the client's registry may have any word.
func stateOf(state string) string {
	switch state {
	case "busy", "ended", "idle", "quiet", "shell", "waiting":
		return state
	}
	return "other"
}

// money is what the sessions cost, and how well their caches serve.
func (b *builder) money(rows []row) {
	b.each(rows, "agent_session_cost_usd", "What the client reckons that the session has cost, in US dollars, by the status line; absent without one.",
		func(v *row) (float64, bool) { return v.Paid.USD, v.Paid.Known })
	b.each(rows, "agent_session_cache_hit_ratio", "Share of all input that was read from the cache, 0 to 1: by the status line, else by the transcript's tokens; absent while unknown.",
		func(v *row) (float64, bool) { return v.CacheHits() })
	b.each(rows, "agent_session_cache_expires_timestamp_seconds", "When the newest entry of the session's prompt cache expires, by the status line; absent while unknown.",
		func(v *row) (float64, bool) { return float64(v.CacheExpires.Unix()), !v.CacheExpires.IsZero() })
}

// triggers are the labels of what is counted by [transcript.Trigger].
func (b *builder) triggers() []*dto.LabelPair {
	return b.labelsOf("trigger", "auto", "manual", "unknown", "idle")
}

// compactions are those of each session.
func (b *builder) compactions(rows []row) {
	triggers := b.triggers()
	b.counter("agent_session_compactions_total", "Compactions of the session since the state directory was made.")
	for _, v := range rows {
		for i, trigger := range triggers {
			b.add(float64(v.Counted[i]), v.label, trigger)
		}
	}
	b.each(rows, "agent_session_dear_compactions", "How many of the session's newest compactions in a row were followed by rereads of more tokens than after nine of ten compactions.",
		always(func(v *row) float64 { return float64(v.DearBills) }))
	b.gauge(
		"agent_session_transcript_compactions",
		"Compactions of the session that its transcript holds, without those copied from another session.",
	)
	for _, v := range rows {
		for i, trigger := range triggers {
			b.add(float64(v.Compactions[i]), v.label, trigger)
		}
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// inOrder gives a copy that is sorted by what its elements are called.
func inOrder[T any](all []T, name func(T) string) []T {
	all = slices.Clone(all)
	slices.SortFunc(all, func(x, y T) int { return strings.Compare(name(x), name(y)) })
	return all
}
