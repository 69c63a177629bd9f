package metrics

import (
	"strings"
	"time"

	"sm/observer/api"
	"sm/transcript"
)

const sessionPrefix = "agent_session_"

// sessions adds the families that have series for each session.
func (b builder) sessions(all []api.Session, hideProject bool) {
	for i := range all {
		s := &all[i]
		b.gauges(s)
		project := ""
		// Without a working directory the project would be the folder of the
		// transcript, whose name contains all its parents.
		if !hideProject && strings.Trim(s.CWD, `/\`) != "" {
			project = tame(s.Project)
		}
		add(b, sessionPrefix+"info", 1,
			"client", s.Client, "model", tame(s.Model), "project", project, "session", s.Label,
			"session_id", tame(s.SessionID), "version", tame(s.Version), "window_source", s.WindowSource)
		for _, level := range [...]string{"critical", "early_warn", "ok", "warn"} {
			add(b, sessionPrefix+"level", truth(s.Level == level),
				"level", level, "session", s.Label)
		}
		if n := s.ThresholdTokens; n != nil {
			add(b, sessionPrefix+"compaction_threshold_tokens", *n,
				"session", s.Label, "source", s.ThresholdSource)
		}
		if s.State != "" {
			add(b, sessionPrefix+"state", 1, "session", s.Label, "state", stateOf(s.State))
		}
		sources := [...]string{"estimate", "hook", "statusline", "transcript"}
		for i, at := range [...]*time.Time{
			&s.EstimateAt,
			s.HookAt,
			s.StatuslineAt,
			&s.TranscriptAt,
		} {
			if at != nil && !at.IsZero() {
				add(b, sessionPrefix+"sample_timestamp_seconds", seconds(*at),
					"session", s.Label, "source", sources[i])
			}
		}
		b.triggers("compactions_total", &s.Counted, s.Label)
		b.triggers("transcript_compactions", &s.Compactions, s.Label)
	}
}

// gauges adds the families with at most one series for each session. A nil
// value has none.
func (b builder) gauges(s *api.Session) {
	figures := map[string]*float64{
		"active":                          of(new(truth(s.IsActive))),
		"cache_hit_ratio":                 s.CacheHitRatio,
		"compacting":                      of(new(truth(s.IsCompacting))),
		"context_tokens":                  of(s.TokensUsed),
		"context_window_tokens":           of(&s.WindowTokens),
		"cost_usd":                        s.CostUSD,
		"cycle":                           positive(s.Cycle),
		"dear_compactions":                of(&s.DearCompactions),
		"estimated_cost_usd":              s.EstimatedUSD,
		"drift_tokens":                    of(s.DriftTokens),
		"last_activity_timestamp_seconds": positive(seconds(s.SeenAt)),
		"pressure_ratio":                  s.Pressure,
		"queued_messages":                 positive(s.Queued),
		"reachable":                       of(new(truth(s.Reachable))),
		"statusline_ratio":                positive(s.StatuslineRatio),
	}
	if n := s.TokensUsed; n != nil && s.ContextSource != "statusline" {
		figures["context_ratio"] = new(min(1, float64(*n)/float64(s.WindowTokens)))
	}
	if s.TokensUsed != nil && s.ThresholdTokens != nil {
		figures["cleared_tokens"] = positive(s.ClearedTokens)
	}
	if f := s.Forecast; f != nil {
		if r := f.Replies; r != nil {
			figures["forecast_replies"] = &r.Likely
			figures["forecast_replies_low"] = &r.Low
			figures["forecast_replies_high"] = &r.High
		}
		if r := f.Turns; r != nil {
			figures["forecast_turns"] = &r.Likely
		}
		if r := f.Seconds; r != nil {
			figures["forecast_seconds"] = &r.Likely
		}
	}
	if at := s.CacheExpiresAt; at != nil {
		figures["cache_expires_timestamp_seconds"] = new(float64(at.Unix()))
	}
	for name, value := range figures {
		if value != nil {
			add(b, sessionPrefix+name, *value, "session", s.Label)
		}
	}
}

// of converts a value, nil while unknown.
func of[T number](n *T) *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}

func positive[T number](n T) *float64 {
	if n <= 0 {
		return nil
	}
	return new(float64(n))
}

func (b builder) triggers(name string, c *api.Compactions, session string) {
	for trigger, n := range [...]int{c.Auto, c.Manual, c.Unknown, c.Idle} {
		add(b, sessionPrefix+name, n,
			"session", session, "trigger", transcript.Trigger(trigger).String())
	}
}

// stateOf limits the values of the label: the client's registry may contain any
// word.
func stateOf(state string) string {
	switch state {
	case "busy", "ended", "idle", "quiet", "shell", "waiting":
		return state
	}
	return "other"
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
