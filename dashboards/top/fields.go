package top

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"sm/dashboards/page"
	"sm/dashboards/screen"
	"sm/dashboards/urgency"
	"sm/observer/api"
)

// Fields are all that is known about a session: names and values as they came, the agent's id first.
func Fields(s api.Session, now time.Time) (fields [][2]string) {
	add := func(name, value string) {
		if value != "" {
			fields = append(fields, [2]string{name, value})
		}
	}
	fields = append(fields, [2]string{"agent", s.ID})
	add("host", s.Host)
	add("title", s.Title)
	add("name", s.Name)
	add("in metrics", s.Label)
	add("parent", s.ParentID)
	if add("provider", s.Provider); s.Client != s.Provider {
		add("client", s.Client)
	}
	add("pane", s.Pane)
	add("session", s.SessionID)
	add("project", s.Project)
	add("directory", s.CWD)
	add("transcript", s.TranscriptPath)
	add("model", s.Model)
	add("client version", s.Version)
	add("state", waitText(s.State, s.WaitingFor, math.MaxInt))
	if !s.Enabled {
		add("notices", "off")
	}
	add("context", contextText(&s))
	if s.Pressure != nil {
		add("pressure", fmt.Sprintf("%s, %d%% of where it compacts", s.PressureLevel, int(100**s.Pressure))) // whole, as on the page
	}
	add("window", fmt.Sprintf("%d tokens, by %s", s.WindowTokens, s.WindowSource))
	if s.Host == "" {
		add("largest context", fmt.Sprintf("%d tokens", s.PeakTokens))
	}
	if s.ReadingAt != nil {
		add("last reading", screen.Ago(s.ReadingAt, now)+", by "+readingSource(&s))
	}
	add("cross-check", crossCheckText(s))
	for _, f := range historyFields(s, now) {
		add(f[0], f[1])
	}
	return fields
}

func contextText(s *api.Session) string {
	if s.TokensUsed == nil || s.UsedPercentage == nil {
		return "unknown until the next reply"
	}
	return fmt.Sprintf("%s %d%%, %d of %d tokens", screen.Bar(*s.UsedPercentage), *s.UsedPercentage, *s.TokensUsed, s.WindowTokens)
}

func readingSource(s *api.Session) string {
	source := cmp.Or(s.ContextSource, "transcript")
	if s.Client == "codex" && source == "statusline" { // it has none: its hook spoke
		return "a hook"
	}
	return source
}

// historyFields is what a session has done, and what comes of it; an empty value is none.
func historyFields(s api.Session, now time.Time) (fields [][2]string) {
	add := func(name, value string) { fields = append(fields, [2]string{name, value}) }
	local := s.Host == "" // else there are only the figures that a central server has
	if local {
		add("status line", screen.Ago(s.StatuslineAt, now))
		add("last hook", screen.Ago(s.HookAt, now))
	}
	add("compactions", Compactions(s))
	if s.IsCompacting {
		add("compacting", "now")
	}
	if s.ThresholdTokens != nil {
		add("compacts", page.CompactsAt(*s.ThresholdTokens, s.ThresholdSource))
	}
	if s.IdleCompactionAt != nil {
		add("when idle", page.IdleCompaction(*s.IdleCompactionAt))
	}
	add("forecast", forecastText(s.Forecast))
	add("cycle", fmt.Sprint(s.Cycle))
	add("handoff", handoffText(s))
	if s.Queued > 0 {
		add("messages waiting", fmt.Sprint(s.Queued))
	}
	if local {
		add("turns", fmt.Sprint(s.Turns))
		add("messages", fmt.Sprintf("%d: %s", s.Messages, costText(s.Tokens)))
	}
	if s.Subagents.Messages > 0 || s.Subagents.Files > 0 {
		add("subagents", fmt.Sprintf("%d files, %d messages: %s", s.Subagents.Files, s.Subagents.Messages, costText(s.Subagents.Tokens)))
	}
	if s.CostUSD != nil {
		add("cost", dollars(*s.CostUSD)+" by the client's own figures")
	}
	if s.CacheWriteUSD != nil {
		add("first request", dollars(*s.CacheWriteUSD)+" to write the context into the cache, by the client's estimate")
	}
	if s.CacheHitRatio != nil {
		add("from the cache", fmt.Sprintf("%.0f%% of all input", 100**s.CacheHitRatio))
	}
	if s.StartedAt != nil {
		add("started", s.StartedAt.Local().Format(time.DateTime))
	}
	add("last activity", screen.Ago(s.LastActive, now))
	return fields
}

// crossCheckText says how the status line agrees with the transcript.
func crossCheckText(s api.Session) string {
	switch {
	case s.CrossCheck == "drift" && s.DriftTokens != nil:
		return fmt.Sprintf("the status line tells %+d tokens; see sm doctor", *s.DriftTokens)
	case s.CrossCheck == "":
		return "–"
	}
	return s.CrossCheck
}

// handoffText says what there is of handoffs, and what keeps the agent from another.
func handoffText(s api.Session) string {
	var parts []string
	if s.Handoff != "" {
		parts = append(parts, s.Handoff)
	}
	if s.LastHandoff != nil {
		parts = append(parts, "last with "+*s.LastHandoff)
	}
	switch s.Brake {
	case "breaker":
		parts = append(parts, "the next would be refused: too many in a short time")
	case "futile":
		parts = append(parts, "another would be refused: this context stood above the warning from its start")
	}
	return strings.Join(parts, "; ")
}

// forecastText says how far the compaction is, as "≈ 40 replies, 25–70; about 12 min; 3 turns".
func forecastText(f *api.Forecast) string {
	if f == nil {
		return ""
	}
	unit := func(r *api.Range, one, many string) string {
		if math.Round(r.Likely) == 1 {
			return one
		}
		return many
	}
	var parts []string
	if r := f.Replies; r != nil {
		parts = append(parts, repliesText(r, unit(r, " reply", " replies")))
	}
	if work := workText(f.Seconds); work != "" {
		parts = append(parts, "about "+work)
	}
	if f.Turns != nil {
		parts = append(parts, urgency.ReplyCount(f.Turns.Likely)+unit(f.Turns, " turn", " turns"))
	}
	return strings.Join(parts, "; ")
}

func costText(t api.Tokens) string {
	return fmt.Sprintf("%s input, %s cache creation, %s cache read, %s output",
		screen.Tokens(t.Input), screen.Tokens(t.CacheCreation), screen.Tokens(t.CacheRead), screen.Tokens(t.Output))
}

// Compactions writes counts as "3 auto, 1 manual"; "–" for none.
func Compactions(s api.Session) string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{s.Compactions.Auto, "auto"}, {s.Compactions.Manual, "manual"}, {s.Compactions.Idle, "idle"}, {s.Compactions.Unknown, "of unknown cause"}, {s.Inherited, "inherited"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if len(parts) == 0 {
		return "–"
	}
	return strings.Join(parts, ", ")
}
