package observer

import (
	"cmp"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/transcript"
)

// SessionOf is a session as the API tells it.
func SessionOf(v fleet.View) api.Session {
	s := api.Session{
		ID: v.Agent, Name: cmp.Or(v.Name, v.Client.Name), Title: v.Title, ParentID: v.ParentID, Provider: v.Provider, Label: v.Label,
		SessionID: v.SessionID, TranscriptPath: v.Path, Project: v.Project, CWD: v.CWD, Model: v.Model, Version: v.Version,
		PeakTokens: v.Peak, WindowTokens: v.Window.Tokens, WindowSource: v.Window.Source.String(),
		Cycle: v.Cycle, IsIdle: isIdle(v), IsActive: v.Live, State: stateOf(v),
		Compactions: compactions(v.Compactions), Inherited: sum(v.Inherited),
		Turns: v.Turns, Messages: v.Messages, Tokens: tokens(v.Cost),
		Subagents: api.Subagents{Files: v.SubagentFiles, Messages: v.SubagentMessages, Tokens: tokens(v.SubagentTokens)},
		StartedAt: timeOrNil(v.Started), LastActive: timeOrNil(v.Active), ReadingAt: timeOrNil(v.Reading),
		CrossCheck: v.Check, Pane: v.Pane, TmuxSocket: v.Tmux, Enabled: true,
		StatuslineAt: timeOrNil(v.Spoke), HookAt: timeOrNil(v.Hooked),
	}
	if v.Known {
		percent := v.Window.Percent(v.Tokens)
		s.TokensUsed, s.UsedPercentage, s.Level, s.ContextSource = &v.Tokens, &percent, v.Level.String(), sourceName(v.Source)
		s.ClearedTokens = v.Cleared
	}
	if v.Active.IsZero() && v.Path == "" {
		s.LastActive = timeOrNil(v.Seen()) // an agent that has no transcript yet
	}
	if v.Paid.Known {
		s.CostUSD = &v.Paid.USD
	}
	if ratio, known := v.CacheHits(); known {
		s.CacheHitRatio = &ratio
	}
	if v.DriftKnown {
		s.DriftTokens = &v.Drift
	}
	return s
}

// spent fills in what all sessions together used.
func (c *core) spent(now time.Time, s *api.Sessions) {
	limits, today := c.fleet.Limits(now), c.fleet.Counters().Today
	for i, to := range [...]**api.RateLimit{&s.RateLimits.FiveHour, &s.RateLimits.SevenDay} {
		if l := limits[i]; l.Resets != 0 {
			*to = &api.RateLimit{UsedRatio: l.Used, ResetsAt: l.Resets.Time()}
		}
	}
	if s.Today.Tokens = today.Tokens; today.Cost.Known {
		s.Today.CostUSD = &today.Cost.USD
	}
}

// sourceName is a reading's source as metrics and JSON write it.
func sourceName(s transcript.Source) string {
	return [...]string{"transcript", "statusline", "estimate"}[s]
}

// policy is what engine and queue know of a view's agent.
type policy struct {
	alerts.View
	known  bool
	queued int
	// hooks says that those of the present session work, waiting how many of the queued wait
	// for that.
	hooks   bool
	waiting int
	// last is the path of the last handoff that was carried out, handoff the state of the
	// one that is under way, brake what keeps the agent from another; "" for none.
	last, handoff, brake string
}

func (c *core) policy(v *fleet.View) (p policy) {
	if v.Past {
		return p
	}
	p.View, p.known = c.engine.Agent(alerts.AgentID(v.Agent))
	if seat, ok := c.rotations.Agent(alerts.AgentID(v.Agent)); ok {
		p.last = seat.Path
		p.brake = c.rotations.Brake(seat.Agent, v.SessionID, time.Now())
	}
	if r, ok := c.rotations.Open(alerts.AgentID(v.Agent)); ok {
		p.handoff = r.State.String()
	}
	p.hooks = c.delivery.hooksWork(alerts.AgentID(v.Agent))
	if p.known || c.queue.HasWaiting(alerts.AgentID(v.Agent)) {
		for _, m := range c.queue.Of(alerts.AgentID(v.Agent)) {
			if m.State == outbox.Waiting || m.State == outbox.Offered {
				p.queued++
			}
			if c.delivery.waitsFor(&m) != "" {
				p.waiting++
			}
		}
	}
	return p
}

func (c *core) session(v fleet.View) api.Session {
	p := c.policy(&v)
	return p.session(v)
}

// session is a view as the API tells it, with what the policy knows.
func (p *policy) session(v fleet.View) api.Session {
	s := SessionOf(v)
	s.Queued, s.HooksSeen, s.WaitForHooks = p.queued, p.hooks, p.waiting
	if p.last != "" {
		s.LastHandoff = &p.last
	}
	s.Handoff, s.Brake = p.handoff, p.brake
	if !p.known {
		return s
	}
	s.Cycle, s.IsCompacting, s.Enabled = p.Cycle, p.Compacting && !v.Ended, p.Enabled
	if !v.Known && p.FromStatusline() {
		s.TokensUsed, s.UsedPercentage, s.ContextSource, s.ReadingAt = &p.Tokens, &p.Percent, sourceName(p.Source), timeOrNil(p.Read)
		s.WindowTokens = cmp.Or(p.Window, s.WindowTokens)
	}
	if s.TokensUsed != nil && p.Known {
		s.Level = p.Level.String()
	}
	if p.Threshold > 0 {
		s.ThresholdTokens, s.ThresholdSource = &p.Threshold, p.ThresholdSource.String()
	}
	if p.Pressure != alerts.PressureUnknown {
		s.Pressure, s.PressureLevel = &p.Ratio, p.Pressure.String()
	}
	if f := p.Forecast; f.Replies.Known || f.Turns.Known || f.Active.Known {
		s.Forecast = &api.Forecast{Replies: rangeOf(f.Replies), Turns: rangeOf(f.Turns), Seconds: rangeOf(f.Active)}
	}
	return s
}

func rangeOf(r alerts.Range) *api.Range {
	if !r.Known {
		return nil
	}
	return &api.Range{Low: r.Low, Likely: r.Likely, High: r.High}
}

func compactions(c [3]int) api.Compactions {
	return api.Compactions{Auto: c[transcript.Auto], Manual: c[transcript.Manual], Unknown: c[transcript.Unknown]}
}

func sum(c [3]int) int { return c[0] + c[1] + c[2] }

func tokens(u transcript.Usage) api.Tokens {
	return api.Tokens{Input: u.Input, CacheCreation: u.CacheCreation, CacheRead: u.CacheRead, Output: u.Output}
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// The states of sessions in which nobody sits any more: their agent has gone on to
// another, or their client has ended.
const (
	stateLeft  = "left"
	stateEnded = "ended"
)

// stateOf is what the client's registry says, else what the turns of the
// transcript say: a turn that has not ended for long is one whose client has gone.
func stateOf(v fleet.View) string {
	switch {
	case v.Past:
		return stateLeft
	case v.Ended:
		return stateEnded
	case v.Client.Status != "":
		return v.Client.Status
	case v.InTurn && v.Live:
		return "busy"
	case v.Live:
		return "idle"
	}
	return "quiet"
}

func isIdle(v fleet.View) bool {
	switch stateOf(v) {
	case "idle", "quiet", stateLeft, stateEnded:
		return true
	}
	return false
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
