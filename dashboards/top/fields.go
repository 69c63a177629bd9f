package top

import (
	"cmp"
	"strings"
	"text/template"
	"time"

	"sm/dashboards/screen"
	"sm/observer/api"
)

// fieldLines has a line for each field of a session: its name, and the template
// of its value. A central server has fewer figures than an observer, and Codex
// has no status line.
const fieldLines = `agent: {{.ID}}
host: {{.Host}}
title: {{.Title}}
name: {{if ne .Name .ID}}{{.Name}}{{end}}
in metrics: {{if and (ne .Label .ID) (ne .Label .Name)}}{{.Label}}{{end}}
parent: {{.ParentID}}
provider: {{.Provider}}
client: {{if ne .Client .Provider}}{{.Client}}{{end}}
pane: {{.Pane}}
session: {{if ne .SessionID .ID}}{{.SessionID}}{{end}}
project: {{.Project}}
directory: {{.CWD}}
transcript: {{.TranscriptPath}}
model: {{.Model}}
client version: {{.Version}}
state: {{state . 9999}}
notices: {{if not .Enabled}}off{{else if unreached .}}none, as no hook of its client was seen in this session; run sm install, and give it a prompt{{end}}
context: {{if and .TokensUsed .UsedPercentage}}{{tokens .TokensUsed}} tokens{{else}}unknown until the next reply{{end}}
pressure: {{with .Pressure}}{{percent .}}%, {{$.PressureLevel}}{{end}}
compacts: {{with .ThresholdTokens}}{{compactsAt (value .) $.ThresholdSource}}{{end}}
window: {{tokens .WindowTokens}} tokens, by {{.WindowSource}}
largest context: {{if not .TokensUsed}}{{with .PeakTokens}}{{tokens .}} tokens{{end}}{{else if gt .PeakTokens (value .TokensUsed)}}{{tokens .PeakTokens}} tokens{{end}}
last reading: {{with .ReadingAt}}{{ago .}}, by {{if and $.Client (ne $.Client "claude") (eq $.ContextSource "statusline")}}a hook{{else}}{{or $.ContextSource "transcript"}}{{end}}{{end}}
cross-check: {{if and (eq .CrossCheck "drift") .DriftTokens}}the status line has {{printf "%+d" (value .DriftTokens)}} tokens; see sm doctor{{else}}{{.CrossCheck}}{{end}}
status line: {{with .StatuslineAt}}{{ago .}}{{end}}
last hook: {{with .HookAt}}{{ago .}}{{end}}
compactions: {{if or .Compactions.Total .Inherited}}{{compactions .}}{{end}}
when idle: {{with .IdleCompactionAt}}idle compaction at {{.Local.Format "15:04"}}{{end}}
forecast: {{$and := ""}}{{with .Forecast}}{{with .Replies}}≈ {{count .Likely}} {{if eq (count .Likely) "1"}}reply{{else}}replies{{end}}, {{count .Low}}–{{count .High}}{{$and = "; "}}{{end}}{{with .Seconds}}{{$and}}about {{work .Likely}}{{$and = "; "}}{{end}}{{with .Turns}}{{$and}}{{count .Likely}} {{if eq (count .Likely) "1"}}turn{{else}}turns{{end}}{{end}}{{end}}
cycle: {{.Cycle}}
handoff: {{$and := ""}}{{with .Handoff}}{{.}}{{$and = "; "}}{{end}}{{with .LastHandoff}}{{$and}}last with {{.}}{{$and = "; "}}{{end}}{{if eq .Brake "breaker"}}{{$and}}the next would be refused: too many in a short time{{else if eq .Brake "futile"}}{{$and}}another would be refused: this context was above the warning from its start{{end}}
messages waiting: {{with .Queued}}{{.}}{{end}}
turns: {{with .Turns}}{{.}}{{end}}
messages: {{with .Messages}}{{.}}: {{template "tokens" $.Tokens}}{{end}}
subagents: {{with .Subagents}}{{if or .Messages .Files}}{{.Files}} file{{if ne .Files 1}}s{{end}}, {{.Messages}} message{{if ne .Messages 1}}s{{end}}: {{template "tokens" .Tokens}}{{end}}{{end}}
cost: {{with .CostUSD}}{{dollars (value .)}} by the client's own figures{{end}}
estimated cost: {{with .EstimatedUSD}}{{dollars (value .)}} by the configured prices{{end}}
first request: {{with .CacheWriteUSD}}{{dollars (value .)}} to write the context into the cache, by the client's estimate{{end}}
from the cache: {{with .CacheHitRatio}}{{hundredths .}}% of all input{{end}}
started: {{with .StartedAt}}{{.Local.Format "2006-01-02 15:04:05"}}{{end}}
last activity: {{with .LastActive}}{{ago .}}{{end}}`

// Fields returns the names and values of all fields of a session, the agent's
// id first, without those that have no value. Values are not made fit for a
// terminal.
func Fields(s api.Session, now time.Time) (fields [][2]string) {
	all := templates(`{{define "tokens"}}{{tokens .Input}} input, {{tokens .CacheCreation}} cache creation, `+
		`{{tokens .CacheRead}} cache read, {{tokens .Output}} output{{end}}`, now)
	for line := range strings.SplitSeq(fieldLines, "\n") {
		name, text, _ := strings.Cut(line, ": ")
		template.Must(all.New(name).Parse(text))
		if value := screen.Execute(all, name, &s); value != "" || name == "agent" {
			fields = append(fields, [2]string{name, value})
		}
	}
	return fields
}

const compactionsText = `{{define "compactions"}}
{{- with .Compactions.Auto}}, {{.}} auto{{end}}
{{- with .Compactions.Manual}}, {{.}} manual{{end}}
{{- with .Compactions.Idle}}, {{.}} idle{{end}}
{{- with .Compactions.Unknown}}, {{.}} of unknown cause{{end}}
{{- with .Inherited}}, {{.}} inherited{{end}}{{end}}`

// Compactions formats counts as "3 auto, 1 manual"; "–" for none.
func Compactions(s *api.Session) string {
	text := screen.Execute(templates(compactionsText, time.Time{}), "compactions", s)
	return cmp.Or(strings.TrimPrefix(text, ", "), "–")
}
