package observer

import (
	"runtime"
	"slices"
	"strings"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/access"
	"sm/observer/fleet"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// families writes all that is ours.
func (m *metrics) families(p *page) {
	m.infos(p)
	m.contexts(p)
	m.activity(p)
	m.policies(p)
	m.compactions(p)
	m.totals(p)
	m.notices(p)
	m.itself(p)
}

// infos describe the sessions in words.
func (m *metrics) infos(p *page) {
	p.family("agent_session_info", "gauge", "What is known of a session besides figures; always 1.")
	for _, v := range p.sessions {
		project := ""
		// Without a working directory the project would be the folder of the
		// transcript, which is called after all the parents.
		if !m.app.settings.Load().HideProject && strings.Trim(v.CWD, `/\`) != "" {
			project = tame(v.Project)
		}
		p.series(1, "client", v.Program, "model", tame(v.Model), "project", project, "session", v.Label, "session_id", tame(v.SessionID),
			"version", tame(v.Version), "window_source", v.Window.Source.String())
	}
}

// contexts are the figures about the sessions' contexts.
func (m *metrics) contexts(p *page) {
	p.family("agent_session_context_tokens", "gauge", "Tokens in the context at the newest reply; absent while unknown, as after a compaction.")
	for _, v := range p.sessions {
		if tokens := v.tokens(); tokens > 0 {
			p.series(float64(tokens), "session", v.Label)
		}
	}
	p.family("agent_session_context_window_tokens", "gauge", "Size of the context window.")
	for _, v := range p.sessions {
		p.series(float64(v.Window.Tokens), "session", v.Label)
	}
	p.family("agent_session_context_ratio", "gauge", "Share of the context window in use, 0 to 1, by the transcript; absent while unknown.")
	for _, v := range p.sessions {
		if v.Known {
			p.series(min(1, float64(v.Tokens)/float64(v.Window.Tokens)), "session", v.Label)
		}
	}
	p.family("agent_session_level", "gauge", "1 for the level that the context has reached, 0 for the others.")
	levels := [...]alerts.Level{alerts.Critical, alerts.EarlyWarn, alerts.OK, alerts.Warn} // as their names are ordered
	for _, v := range p.sessions {
		for _, level := range levels {
			p.series(float64(btoi(v.level() == level.String())), "level", level.String(), "session", v.Label)
		}
	}
	p.family("agent_session_compaction_threshold_tokens", "gauge", "Context size at which the client compacts by itself, and where that is from: configured, seen, assumed; absent while unknown.")
	for _, v := range p.sessions {
		if v.policy.Threshold > 0 {
			p.series(float64(v.policy.Threshold), "session", v.Label, "source", v.policy.ThresholdSource.String())
		}
	}
	p.family("agent_session_cleared_tokens", "gauge", "Tokens of tool results that were left out of the newest request, and that count besides the context on the way to the compaction threshold; absent for none, and while the threshold is unknown.")
	for _, v := range p.sessions {
		if v.Cleared > 0 && v.tokens() > 0 && v.policy.Threshold > 0 {
			p.series(float64(v.Cleared), "session", v.Label)
		}
	}
}

// tokens is the context's size by the transcript, by an estimate, or, where neither
// tells, by what the policy goes by; 0 while unknown.
func (v *shown) tokens() int64 {
	switch {
	case v.Known:
		return v.Tokens
	case v.policy.stands():
		return v.policy.Tokens
	}
	return 0
}

// level is the one that the policy holds, "" while unknown.
func (v *shown) level() string {
	switch {
	case v.Known && v.policy.Known, v.policy.stands():
		return v.policy.Level.String()
	case v.Known:
		return v.View.Level.String()
	}
	return ""
}

// policies are what the policy makes of the contexts, and how the status line agrees.
func (m *metrics) policies(p *page) {
	p.family("agent_session_statusline_ratio", "gauge", "Share of the context window in use, 0 to 1, by the status line; absent while it does not know.")
	for _, v := range p.sessions {
		if x := v.Sample; x.Tokens > 0 && x.Window > 0 {
			p.series(min(1, float64(x.Tokens)/float64(x.Window)), "session", v.Label)
		} else if x.Percent > 0 {
			p.series(float64(x.Percent)/100, "session", v.Label)
		}
	}
	p.family("agent_session_drift_tokens", "gauge", "How many tokens more the status line tells than the transcript; absent while there is nothing to compare.")
	for _, v := range p.sessions {
		if v.DriftKnown {
			p.series(float64(v.Drift), "session", v.Label)
		}
	}
	p.family("agent_session_compacting", "gauge", "1 while the client compacts.")
	for _, v := range p.sessions {
		p.series(float64(btoi(v.policy.Compacting && !v.Ended)), "session", v.Label)
	}
	p.family("agent_session_forecast_turns", "gauge", "Turns until the context reaches the compaction threshold, if it goes on to grow as it has; absent while unknown.")
	for _, v := range p.sessions {
		if f := v.policy.Forecast.Turns; f.Known {
			p.series(f.Likely, "session", v.Label)
		}
	}
	p.family("agent_session_forecast_seconds", "gauge", "The same in seconds of work.")
	for _, v := range p.sessions {
		if f := v.policy.Forecast.Active; f.Known {
			p.series(f.Likely, "session", v.Label)
		}
	}
}

// activity says when the sessions did something.
func (m *metrics) activity(p *page) {
	p.family("agent_session_sample_timestamp_seconds", "gauge", "When a source last told of the session's context: time of its newest reading, report or hook.")
	for _, v := range p.sessions {
		if v.Source == transcript.FromEstimate && !v.Reading.IsZero() {
			p.series(seconds(v.Reading), "session", v.Label, "source", "estimate")
		}
		if !v.Hooked.IsZero() {
			p.series(seconds(v.Hooked), "session", v.Label, "source", "hook")
		}
		if !v.Spoke.IsZero() {
			p.series(seconds(v.Spoke), "session", v.Label, "source", "statusline")
		}
		if !v.Reading.IsZero() && v.Source == transcript.FromTranscript {
			p.series(seconds(v.Reading), "session", v.Label, "source", "transcript")
		}
	}
	p.family("agent_session_last_activity_timestamp_seconds", "gauge", "When the session was last seen to do something: time of its newest record or of its file, whichever is later.")
	for _, v := range p.sessions {
		if seen := v.Seen(); !seen.IsZero() {
			p.series(seconds(seen), "session", v.Label)
		}
	}
	p.family("agent_session_active", "gauge", "1 while the session's client runs, or it did something in the last 10 minutes and is not known to have ended.")
	for _, v := range p.sessions {
		p.series(float64(btoi(v.Live)), "session", v.Label)
	}
}

// triggers are the names of what fleet counts by trigger.
func triggers() [3]string { return [3]string{"auto", "manual", "unknown"} }

// compactions are those of each session.
func (m *metrics) compactions(p *page) {
	p.family("agent_session_compactions_total", "counter", "Compactions of the session since the state directory was made.")
	for _, v := range p.sessions {
		for i, trigger := range triggers() {
			p.series(float64(v.Counted[i]), "session", v.Label, "trigger", trigger)
		}
	}
	p.family("agent_session_transcript_compactions", "gauge", "Compactions of the session that its transcript holds, without those copied from another session.")
	for _, v := range p.sessions {
		for i, trigger := range triggers() {
			p.series(float64(v.Compactions[i]), "session", v.Label, "trigger", trigger)
		}
	}
}

// totals are the figures about all sessions together.
func (m *metrics) totals(p *page) {
	c := &p.counters
	p.family("agent_compactions_total", "counter", "Compactions since the state directory was made, each counted once.")
	for i, trigger := range triggers() {
		p.series(float64(c.Compactions[i]), "client", fleet.Claude, "trigger", trigger)
	}
	p.family("agent_compaction_attempts_total", "counter", "Compactions that clients set out to make, by their hooks, since the state directory was made.")
	for i, trigger := range triggers() {
		p.series(float64(p.alerts.Attempts[i]), "client", fleet.Claude, "trigger", trigger)
	}
	p.family("agent_compaction_storms_total", "counter", "Storms of compactions, each counted once.")
	p.series(float64(p.alerts.Storms), "client", fleet.Claude)
	p.family("agent_compaction_duration_seconds", "histogram", "Duration of compactions since the state directory was made, where the transcript tells it.")
	p.histogram(fleet.DurationBounds(), c.Duration.Counts, c.Duration.Sum, "client", fleet.Claude)
	p.family("agent_compaction_pre_tokens", "histogram", "Context size before compactions since the state directory was made.")
	p.histogram(fleet.PreTokensBounds(), c.PreTokens.Counts, c.PreTokens.Sum, "client", fleet.Claude)
	p.family("agent_tokens_total", "counter", "Tokens of API messages since the state directory was made, each message counted once; subagents included.")
	p.series(float64(c.Tokens.CacheCreation), "client", fleet.Claude, "kind", "cache_creation")
	p.series(float64(c.Tokens.CacheRead), "client", fleet.Claude, "kind", "cache_read")
	p.series(float64(c.Tokens.Input), "client", fleet.Claude, "kind", "input")
	p.series(float64(c.Tokens.Output), "client", fleet.Claude, "kind", "output")
	p.family("sm_transcript_lines_total", "counter", "Transcript lines read, history included; bad ones are no JSON objects.")
	p.series(float64(c.Lines.Bad), "result", "bad")
	p.series(float64(c.Lines.Good), "result", "ok")
	p.family("sm_transcript_bytes_total", "counter", "Bytes of transcript lines read, history included.")
	p.series(float64(c.Bytes))
}

// notices are what was said, and what became of it.
func (m *metrics) notices(p *page) {
	p.family("sm_notices_total", "counter", "Notices, by what they are about; one that goes to several counts once.")
	kinds := alerts.Kinds()
	for _, kind := range slices.SortedFunc(slices.Values(kinds[:]), func(a, b alerts.Kind) int { return strings.Compare(a.String(), b.String()) }) {
		p.series(float64(p.alerts.Notices[kind]), "kind", kind.String())
	}
	p.family("sm_messages_total", "counter", "Messages to agents that have ended, by the way they went last and by what became of them.")
	outcomes := outbox.Outcomes()
	slices.SortFunc(outcomes[:], func(a, b outbox.State) int { return strings.Compare(a.String(), b.String()) })
	carriers := outbox.Carriers()
	slices.SortFunc(carriers[:], func(a, b outbox.Carrier) int { return strings.Compare(a.String(), b.String()) })
	for _, outcome := range outcomes {
		for _, via := range carriers {
			p.series(float64(p.ended.Count(via, outcome)), "outcome", outcome.String(), "via", via.String())
		}
	}
	p.family("sm_queue_messages", "gauge", "Messages to agents that have not ended.")
	p.series(float64(p.queued))
	p.family("sm_handoffs_total", "counter", "Handoffs that have ended, by outcome, and calls that were turned away: refused, by the breaker, or as futile.")
	for _, outcome := range slices.Sorted(slices.Values(handoffOutcomes())) {
		p.series(float64(p.rotations.Count(outcome)), "outcome", outcome)
	}
	p.family("sm_reminders_total", "counter", "Reminders that were due, by what became of them.")
	for _, outcome := range []alerts.ReminderOutcome{alerts.ReminderCancelled, alerts.ReminderLate, alerts.ReminderSent, alerts.ReminderSkipped} {
		p.series(float64(p.alerts.Reminders[outcome]), "outcome", outcome.String())
	}
	p.family("sm_hook_events_total", "counter", "Hooks of clients, by event; StatusLine is a report of the status line.")
	for _, event := range slices.Sorted(slices.Values(append(hook.Events(), otherHook))) {
		p.series(float64(p.hooks[event]), "event", string(event))
	}
}

// itself is how the observer fares.
func (m *metrics) itself(p *page) {
	stats := m.app.stats
	p.family("sm_transcripts", "gauge", "Transcript files known, by how they are watched.")
	p.series(float64(stats.Failed.Load()), "state", "failed")
	p.series(float64(stats.Live.Load()), "state", "live")
	p.series(float64(stats.Parked.Load()), "state", "parked")
	p.family("sm_sessions_unexported", "gauge", "Sessions beyond metrics.max_sessions, which have no series here.")
	p.series(float64(p.unexported))
	p.family("sm_read_lag_bytes", "gauge", "Bytes of live transcripts not read yet, as of the last check.")
	p.series(float64(stats.Lag.Load()))
	p.family("sm_http_refused_total", "counter", "Requests that the guard turned away, by reason.")
	for _, reason := range slices.Sorted(slices.Values(access.Reasons())) {
		p.series(float64(m.refusals[reason].Load()), "reason", reason)
	}
	p.family("sm_config_last_reload_successful", "gauge", "1 while the newest configuration is in effect, 0 after one that does not hold.")
	p.series(float64(btoi(!m.app.reloads.failed.Load())))
	p.family("sm_config_last_reload_success_timestamp_seconds", "gauge", "When the configuration was last read and held; the start counts.")
	p.series(seconds(time.UnixMilli(m.app.reloads.at.Load())))
	p.family("sm_build_info", "gauge", "What this observer was built from; always 1.")
	p.series(1, "commit", m.app.o.Commit, "goversion", runtime.Version(), "version", m.app.o.Version)
}

func handoffOutcomes() []string {
	list := rotation.Outcomes()
	return list[:]
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
