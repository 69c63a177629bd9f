package top

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"strings"
	"text/template"
	"time"

	"sm/dashboards/page"
	"sm/dashboards/screen"
	"sm/dashboards/urgency"
	"sm/observer/api"
)

// fieldLines has a field of a session a line: its name, and the template of its
// value. A central server has fewer figures than an observer.
const fieldLines = `agent: {{.ID}}
host: {{.Host}}
title: {{.Title}}
name: {{.Name}}
in metrics: {{.Label}}
parent: {{.ParentID}}
provider: {{.Provider}}
client: {{if ne .Client .Provider}}{{.Client}}{{end}}
pane: {{.Pane}}
session: {{.SessionID}}
project: {{.Project}}
directory: {{.CWD}}
transcript: {{.TranscriptPath}}
model: {{.Model}}
client version: {{.Version}}
state: {{wait .State .WaitingFor}}
notices: {{if not .Enabled}}off{{end}}
context: {{context .}}
pressure: {{with .Pressure}}{{$.PressureLevel}}, {{percent .}}% of where it compacts{{end}}
window: {{.WindowTokens}} tokens, by {{.WindowSource}}
largest context: {{if not .Host}}{{.PeakTokens}} tokens{{end}}
last reading: {{with .ReadingAt}}{{ago .}}, by {{source $}}{{end}}
cross-check: {{crossCheck .}}
status line: {{if not .Host}}{{ago .StatuslineAt}}{{end}}
last hook: {{if not .Host}}{{ago .HookAt}}{{end}}
compactions: {{compactions .}}
compacting: {{if .IsCompacting}}now{{end}}
compacts: {{with .ThresholdTokens}}{{compactsAt (value .) $.ThresholdSource}}{{end}}
when idle: {{with .IdleCompactionAt}}{{idleCompaction (value .)}}{{end}}
forecast: {{forecast .Forecast}}
cycle: {{.Cycle}}
handoff: {{handoff .}}
messages waiting: {{with .Queued}}{{.}}{{end}}
turns: {{if not .Host}}{{.Turns}}{{end}}
messages: {{if not .Host}}{{.Messages}}: {{tokens .Tokens}}{{end}}
subagents: {{with .Subagents}}{{if or .Messages .Files}}{{.Files}} files, {{.Messages}} messages: {{tokens .Tokens}}{{end}}{{end}}
cost: {{with .CostUSD}}{{dollars (value .)}} by the client's own figures{{end}}
first request: {{with .CacheWriteUSD}}{{dollars (value .)}} to write the context into the cache, by the client's estimate{{end}}
from the cache: {{with .CacheHitRatio}}{{hundredths .}}% of all input{{end}}
started: {{with .StartedAt}}{{.Local.Format "2006-01-02 15:04:05"}}{{end}}
last activity: {{ago .LastActive}}
`

// Fields returns the names and values of everything about a session, the
// agent's id first; fields without a value are left out. Values are not made fit
// for a terminal.
func Fields(s api.Session, now time.Time) (fields [][2]string) {
	lines := template.New("").Funcs(template.FuncMap{
		"ago":            func(at *time.Time) string { return screen.Ago(at, now) },
		"compactions":    Compactions,
		"compactsAt":     page.CompactsAt,
		"context":        contextText,
		"crossCheck":     crossCheckText,
		"dollars":        dollars,
		"forecast":       forecastText,
		"handoff":        handoffText,
		"hundredths":     func(share *float64) string { return fmt.Sprintf("%.0f", 100**share) },
		"idleCompaction": page.IdleCompaction,
		"percent":        func(share *float64) int { return int(100 * *share) }, // cut, as on the page
		"source":         readingSource,
		"tokens":         tokensText,
		"value":          reflect.Indirect,
		"wait":           func(state, reason string) string { return waitText(state, reason, math.MaxInt) },
	})
	for line := range strings.Lines(fieldLines) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		var value strings.Builder
		t := template.Must(lines.New(name).Parse(text))
		if err := t.Execute(&value, &s); err != nil {
			panic(err) // a mistake in the line, which any session shows
		}
		if value.Len() > 0 || name == "agent" {
			fields = append(fields, [2]string{name, value.String()})
		}
	}
	return fields
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
func Compactions(s *api.Session) string {
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
