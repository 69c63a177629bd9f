package wire

import (
	"cmp"
	"slices"
	"time"

	"sm/alerts"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/observer/tally"
	"sm/transcript"
)

// Session converts a view of the fleet.
func Session(v fleet.View) api.Session {
	state := stateOf(v)
	agent := &v.Agent
	s := api.Session{
		ID:             agent.ID,
		Name:           cmp.Or(agent.Name, v.Client.Name),
		Title:          v.Title,
		ParentID:       agent.Parent,
		Provider:       agent.Provider,
		Client:         v.Program,
		Label:          agent.Label,
		SessionID:      v.SessionID,
		TranscriptPath: v.Path,
		Project:        v.Project,
		CWD:            v.CWD,
		Model:          v.Model,
		Version:        v.Version,
		PeakTokens:     v.Peak,
		WindowTokens:   v.Window.Tokens,
		WindowSource:   v.Window.Source.String(),
		Cycle:          1 + v.Total(),
		IsIdle:         slices.Contains([]string{"idle", "quiet", "left", "ended"}, state),
		IsActive:       v.Live,
		State:          state,
		WaitingFor:     v.Reason,
		Compactions:    compactions(v.Compactions),
		Inherited:      v.Inherited.Total(),
		Turns:          v.Turns,
		Messages:       v.Messages,
		Tokens:         api.Tokens(v.Tokens),
		Subagents: api.Subagents{
			Files:      v.SubagentFiles,
			Messages:   v.SideMessages,
			Tokens:     api.Tokens(v.SideTokens),
			Active:     v.SubagentsAtWork,
			MaxContext: v.SubagentContext,
		},
		LastRecord:       cmp.Or(max(v.Active, agent.Statusline, agent.Hooked), v.Written).Time(),
		StartedAt:        at(v.Started),
		LastActive:       at(v.Active),
		ReadingAt:        at(v.Reading.At),
		CacheExpiresAt:   at(agent.Report.CacheExpires),
		IdleCompactionAt: timeOrNil(v.IdleCompaction),
		CrossCheck:       v.Check,
		DriftTokens:      v.Drift,
		Pane:             agent.Pane,
		TmuxSocket:       agent.Tmux,
		Enabled:          true,
		StatuslineAt:     at(agent.Statusline),
		HookAt:           at(agent.Hooked),
		SeenAt:           v.Seen().Time(),
		Counted:          compactions(agent.Counted),
		DearCompactions:  v.DearBills,
		StatuslineRatio:  float64(agent.Sample.Percent) / 100,
	}
	if x := agent.Sample; x.Tokens > 0 && x.Window > 0 {
		s.StatuslineRatio = min(1, float64(x.Tokens)/float64(x.Window))
	}
	switch v.Source {
	case transcript.FromTranscript:
		s.TranscriptAt = v.Reading.At.Time()
	case transcript.FromEstimate:
		s.EstimateAt = v.Reading.At.Time()
	}
	if tokens, known := v.Context(); known {
		s.TokensUsed = &tokens
		s.UsedPercentage = new(v.Window.Percent(tokens))
		s.Level = v.Level.String()
		s.ContextSource = sourceName(v.Source)
		s.ClearedTokens = v.Reading.Cleared
	} else if n := v.Details().Estimate; n > 0 { // shown by the client meanwhile
		s.UsedPercentage = new(v.Window.Percent(n))
	}
	if v.Active == 0 && v.Path == "" {
		s.LastActive = at(v.Seen()) // an agent without a transcript
	}
	report := agent.Report
	if report.Cost.Known {
		s.CostUSD = &report.Cost.USD
	}
	s.EstimatedUSD = v.EstimatedUSD
	if v.CacheWriteUSD > 0 {
		s.CacheWriteUSD = &v.CacheWriteUSD
	}
	if report.CacheHitKnown {
		s.CacheHitRatio = &report.CacheHit
	} else if n := v.Tokens.Context(); n > 0 {
		s.CacheHitRatio = new(float64(v.Tokens.CacheRead) / float64(n))
	}
	s.Bill = billOf(v.Bill)
	return s
}

// billOf converts a bill, nil for none.
func billOf(b *transcript.Bill) *api.Bill {
	if b == nil {
		return nil
	}
	w := &api.Bill{
		Kind:         b.Kind.String(),
		At:           at(b.At),
		Replies:      b.Replies,
		Reads:        b.Reads,
		Rereads:      b.Rereads,
		RereadBytes:  b.Bytes,
		RereadTokens: b.Tokens,
		Reruns:       b.Reruns,
		Reedits:      b.Reedits,
		Restated:     b.Restated,
	}
	if b.Kind == transcript.BilledCompaction {
		w.Trigger = b.Trigger.String()
	}
	if b.Before > 0 && b.After > 0 {
		w.TokensDropped = new(b.Dropped())
	}
	if b.Millis > 0 {
		w.Seconds = new(float64(b.Millis) / 1000)
	}
	if b.Regrown > 0 {
		w.RegrownAfter = &b.Regrown
	}
	return w
}

// RateLimits converts the limits of both clients' accounts; parts are those of
// clients other than Claude Code.
func RateLimits(claude [2]fleet.Limit, parts []tally.Part, now time.Time) api.RateLimits {
	all := rateLimits(claude)
	for _, p := range parts {
		if p.Expire(transcript.InstantOf(now)); p.Limits != ([2]fleet.Limit{}) {
			all.Codex = new(rateLimits(p.Limits))
		}
	}
	return all
}

func rateLimits(limits [2]fleet.Limit) (all api.RateLimits) {
	for i, to := range [...]**api.RateLimit{&all.FiveHour, &all.SevenDay} {
		if l := limits[i]; l.Resets != 0 {
			*to = &api.RateLimit{UsedRatio: l.Used, ResetsAt: l.Resets.Time()}
		}
	}
	return all
}

// sourceName returns the name of a reading's source in metrics and JSON.
func sourceName(s transcript.Source) string {
	return [...]string{"transcript", "statusline", "estimate"}[s]
}

// AddPolicy adds the engine's state of a session's agent.
func AddPolicy(s *api.Session, v *fleet.View, p *alerts.View) {
	switch p.Level {
	case alerts.Warn:
		s.NoticePercent = v.Window.Percent(s.WarningTokens)
	case alerts.Critical:
		s.NoticePercent = v.Window.Percent(s.CriticalTokens)
	}
	s.NoticeRead = p.Read
	s.Storming = p.Storming
	s.Cycle = p.Cycle
	s.IsCompacting = p.Compacting && !v.Ended
	s.Enabled = p.Enabled
	if _, known := v.Context(); !known && p.Known && p.Source == transcript.FromStatusline {
		s.TokensUsed = &p.Tokens
		s.UsedPercentage = &p.Percent
		s.ContextSource = sourceName(p.Source)
		s.ReadingAt = timeOrNil(p.At.Time())
		s.WindowTokens = cmp.Or(p.Window, s.WindowTokens)
	}
	if s.TokensUsed != nil && p.Known {
		s.Level = p.Level.String()
	}
	if p.Threshold > 0 {
		s.ThresholdTokens = &p.Threshold
		s.ThresholdSource = p.ThresholdSource.String()
		if p.ThresholdSource == alerts.ThresholdAssumed {
			s.ThresholdSource = string(v.Basis)
		}
	}
	if p.Pressure != alerts.PressureUnknown {
		s.Pressure = &p.Ratio
		s.PressureLevel = p.Pressure.String()
	}
	if f := p.Forecast; f.Replies.Known || f.Turns.Known || f.Active.Known {
		s.Forecast = &api.Forecast{
			Replies: rangeOf(f.Replies),
			Turns:   rangeOf(f.Turns),
			Seconds: rangeOf(f.Active),
		}
	}
}

func rangeOf(r alerts.Range) *api.Range {
	if !r.Known {
		return nil
	}
	return &api.Range{Low: r.Low, Likely: r.Likely, High: r.High}
}

func compactions(counts transcript.TriggerCounts) (c api.Compactions) {
	for trigger, n := range counts {
		*c.By(transcript.Trigger(trigger).String()) = n
	}
	return c
}

// at converts a time, nil for none.
func at(i transcript.Instant) *time.Time { return timeOrNil(i.Time()) }

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// stateOf returns the status in the client's registry. Without one it derives
// the state from the turns of the transcript: if a turn has been open for long,
// the client has ended.
func stateOf(v fleet.View) string {
	switch {
	case v.Left:
		return "left"
	case v.Ended:
		return "ended"
	case v.Waits:
		return "waiting"
	case v.Client.Status != "":
		return v.Client.Status
	case v.InTurn && v.Live:
		return "busy"
	case v.Live:
		return "idle"
	}
	return "quiet"
}
