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

// fields are names and values of a session.
type fields [][2]string

// add adds a field that has a value.
func (f *fields) add(name, value string) {
	if value != "" {
		*f = append(*f, [2]string{name, value})
	}
}

func (f *fields) addf(name, format string, args ...any) { f.add(name, fmt.Sprintf(format, args...)) }

// Fields returns the names and values of everything about a session, the
// agent's id first. Values are not made fit for a terminal.
func Fields(s api.Session, now time.Time) [][2]string {
	f := fields{{"agent", s.ID}}
	f.add("host", s.Host)
	f.add("title", s.Title)
	f.add("name", s.Name)
	f.add("in metrics", s.Label)
	f.add("parent", s.ParentID)
	f.add("provider", s.Provider)
	if s.Client != s.Provider {
		f.add("client", s.Client)
	}
	f.add("pane", s.Pane)
	f.add("session", s.SessionID)
	f.add("project", s.Project)
	f.add("directory", s.CWD)
	f.add("transcript", s.TranscriptPath)
	f.add("model", s.Model)
	f.add("client version", s.Version)
	f.add("state", waitText(s.State, s.WaitingFor, math.MaxInt))
	if !s.Enabled {
		f.add("notices", "off")
	}
	f.addContext(&s, now)
	f.addHistory(&s, now)
	return f
}

func (f *fields) addContext(s *api.Session, now time.Time) {
	f.add("context", contextText(s))
	if s.Pressure != nil {
		percent := int(100 * *s.Pressure) // cut, as on the page
		f.addf("pressure", "%s, %d%% of where it compacts", s.PressureLevel, percent)
	}
	f.addf("window", "%d tokens, by %s", s.WindowTokens, s.WindowSource)
	if s.Host == "" {
		f.addf("largest context", "%d tokens", s.PeakTokens)
	}
	if s.ReadingAt != nil {
		f.addf("last reading", "%s, by %s", screen.Ago(s.ReadingAt, now), readingSource(s))
	}
	f.add("cross-check", crossCheckText(s))
}

func contextText(s *api.Session) string {
	if s.TokensUsed == nil || s.UsedPercentage == nil {
		return "unknown until the next reply"
	}
	return fmt.Sprintf(
		"%s %d%%, %d of %d tokens",
		screen.Bar(*s.UsedPercentage),
		*s.UsedPercentage,
		*s.TokensUsed,
		s.WindowTokens,
	)
}

func readingSource(s *api.Session) string {
	source := cmp.Or(s.ContextSource, "transcript")
	if s.Client == "codex" && source == "statusline" { // Codex has no status line
		return "a hook"
	}
	return source
}

// addHistory adds what a session has done, and what is ahead.
func (f *fields) addHistory(s *api.Session, now time.Time) {
	local := s.Host == "" // a central server has fewer figures
	if local {
		f.add("status line", screen.Ago(s.StatuslineAt, now))
		f.add("last hook", screen.Ago(s.HookAt, now))
	}
	f.add("compactions", Compactions(*s))
	if s.IsCompacting {
		f.add("compacting", "now")
	}
	if s.ThresholdTokens != nil {
		f.add("compacts", page.CompactsAt(*s.ThresholdTokens, s.ThresholdSource))
	}
	if s.IdleCompactionAt != nil {
		f.add("when idle", page.IdleCompaction(*s.IdleCompactionAt))
	}
	f.add("forecast", forecastText(s.Forecast))
	f.addf("cycle", "%d", s.Cycle)
	f.add("handoff", handoffText(s))
	if s.Queued > 0 {
		f.addf("messages waiting", "%d", s.Queued)
	}
	if local {
		f.addf("turns", "%d", s.Turns)
		f.addf("messages", "%d: %s", s.Messages, tokensText(s.Tokens))
	}
	if sub := s.Subagents; sub.Messages > 0 || sub.Files > 0 {
		f.addf("subagents", "%d files, %d messages: %s", sub.Files, sub.Messages, tokensText(sub.Tokens))
	}
	if s.CostUSD != nil {
		f.addf("cost", "%s by the client's own figures", dollars(*s.CostUSD))
	}
	if s.CacheWriteUSD != nil {
		f.addf(
			"first request",
			"%s to write the context into the cache, by the client's estimate",
			dollars(*s.CacheWriteUSD),
		)
	}
	if s.CacheHitRatio != nil {
		f.addf("from the cache", "%.0f%% of all input", 100**s.CacheHitRatio)
	}
	if s.StartedAt != nil {
		f.add("started", s.StartedAt.Local().Format(time.DateTime))
	}
	f.add("last activity", screen.Ago(s.LastActive, now))
}

// crossCheckText returns how the status line agrees with the transcript.
func crossCheckText(s *api.Session) string {
	if s.CrossCheck == "drift" && s.DriftTokens != nil {
		return fmt.Sprintf("the status line has %+d tokens; see sm doctor", *s.DriftTokens)
	}
	return cmp.Or(s.CrossCheck, "–")
}

// handoffText returns the state of handoffs, and what prevents another.
func handoffText(s *api.Session) string {
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
		parts = append(parts, "another would be refused: this context was above the warning from its start")
	}
	return strings.Join(parts, "; ")
}

// forecastText formats a forecast as "≈ 40 replies, 25–70; about 12 min; 3 turns".
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

func tokensText(t api.Tokens) string {
	return fmt.Sprintf("%s input, %s cache creation, %s cache read, %s output",
		screen.Tokens(t.Input), screen.Tokens(t.CacheCreation), screen.Tokens(t.CacheRead), screen.Tokens(t.Output))
}

// Compactions formats counts as "3 auto, 1 manual"; "–" for none.
func Compactions(s api.Session) string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(s.Compactions.Auto, "auto")
	add(s.Compactions.Manual, "manual")
	add(s.Compactions.Idle, "idle")
	add(s.Compactions.Unknown, "of unknown cause")
	add(s.Inherited, "inherited")
	return cmp.Or(strings.Join(parts, ", "), "–")
}
