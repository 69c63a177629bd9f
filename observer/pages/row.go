package pages

import (
	"cmp"
	"time"

	"sm/alerts"
	webpage "sm/dashboards/page"
	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/fleet"
)

// Row is an agent as the list takes it: what the API says of it, what the engine knows, and what the fleet does.
func Row(v *fleet.View, s *api.Session, p *alerts.View, t alerts.Thresholds) webpage.Row {
	r := webpage.Row{
		ID: s.ID, Name: cmp.Or(s.Name, s.Label, s.SessionID, s.ID), Title: cmp.Or(s.Name, s.Title), Project: s.Project, Client: s.Client, Model: s.Model, Parent: s.ParentID,
		Pressure: s.PressureLevel, Ratio: p.Ratio, Source: s.ThresholdSource,
		Waiting: s.WaitingFor, Level: s.Level, Estimate: s.ContextSource == "estimate", Window: s.WindowTokens,
		Threshold: p.Threshold, Replies: webpage.Range(p.Forecast.Replies), Turns: webpage.Range(p.Forecast.Turns), Work: webpage.Range(p.Forecast.Active),
		Compactions: v.Compactions, State: s.State, Compacting: s.IsCompacting, Storming: p.Storming, Silenced: !s.Enabled, Heard: p.Heard,
		Subagents: v.SubagentsAtWork, SubagentTokens: v.SubagentContext,
		Check: s.CrossCheck, Drift: v.Drift, Seen: int64(curve.Seconds(lastRecord(v))),
	}
	if s.TokensUsed != nil && s.UsedPercentage != nil {
		r.Tokens, r.Percent = *s.TokensUsed, *s.UsedPercentage
	} else {
		r.Level = ""
	}
	r.Warning, r.Critical = t.Limits(v.Window, p.Threshold)
	switch p.Level {
	case alerts.Warn:
		r.NoticePercent = v.Window.Percent(r.Warning)
	case alerts.Critical:
		r.NoticePercent = v.Window.Percent(r.Critical)
	}
	return r
}

// lastRecord is when an agent last did anything by what its records and its client say. The time of the file counts where
// there is nothing else: a copy has a new one.
func lastRecord(v *fleet.View) time.Time {
	seen := v.Active
	for _, t := range [...]time.Time{v.Spoke, v.Hooked} {
		if t.After(seen) {
			seen = t
		}
	}
	if seen.IsZero() {
		return v.Written
	}
	return seen
}

// RateLimits are those of five hours and seven days of both clients' accounts as the page takes them.
func RateLimits(l api.RateLimits) (all []webpage.Limit) {
	add := func(name string, r *api.RateLimit) {
		if r != nil {
			all = append(all, webpage.Limit{Name: name, Used: r.UsedRatio, At: int64(curve.Seconds(r.ResetsAt))})
		}
	}
	add("5 h", l.FiveHour)
	add("7 d", l.SevenDay)
	if l.Codex != nil {
		add("Codex 5 h", l.Codex.FiveHour)
		add("Codex 7 d", l.Codex.SevenDay)
	}
	return all
}
