package observer

import (
	"cmp"
	"time"

	"sm/observer/api"
	"sm/observer/fleet"
	"sm/transcript"
)

// SessionOf is a session as the API tells it.
func SessionOf(v fleet.View) api.Session {
	s := api.Session{
		ID: v.Agent, Name: cmp.Or(v.Name, v.Client.Name), ParentID: v.ParentID, Provider: v.Provider, Label: v.Label,
		SessionID: v.SessionID, TranscriptPath: v.Path, Project: v.Project, CWD: v.CWD, Model: v.Model, Version: v.Version,
		PeakTokens: v.Peak, WindowTokens: v.Window.Tokens, WindowSource: v.Window.Source.String(),
		Cycle: v.Cycle, IsIdle: isIdle(v), IsActive: v.Live, State: stateOf(v),
		Compactions: compactions(v.Compactions), Inherited: sum(v.Inherited),
		Turns: v.Turns, Messages: v.Messages, Tokens: tokens(v.Cost),
		Subagents: api.Subagents{Files: v.SubagentFiles, Messages: v.SubagentMessages, Tokens: tokens(v.SubagentTokens)},
		StartedAt: timeOrNil(v.Started), LastActive: timeOrNil(v.Active), ReadingAt: timeOrNil(v.Reading),
	}
	if v.Known {
		percent := v.Window.Percent(v.Tokens)
		s.TokensUsed, s.UsedPercentage, s.Level = &v.Tokens, &percent, v.Level.String()
	}
	return s
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

// stateOf is what the client's registry says, else what the turns of the
// transcript say: a turn that has not ended for long is one whose client has gone.
func stateOf(v fleet.View) string {
	switch {
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
	state := stateOf(v)
	return state == "idle" || state == "quiet"
}
