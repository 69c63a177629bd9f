package view

import "sm/deploy/doctor"

// lists are the templates for the answers of the observer and the doctor.
const lists = `
{{- define "messages" -}}
{{$narrow := lt to.Columns 76}}{{$waiting := 0}}
{{- $t := cut "ID" "TO" "KIND" "STATUS" "MADE" "TEXT"}}
{{- if $narrow}}{{$t = cut "ID" "TO" "STATUS" "MADE" "TEXT"}}{{end}}
{{- range $_, $m := backward .Messages}}
	{{- $kind := or .Kind .Mode}}{{if eq $kind "sequential"}}{{$kind = "message"}}{{end}}
	{{- $status := .Status}}{{$text := text .Text}}
	{{- if .WaitsFor}}{{$status = print $status " for " .WaitsFor}}{{$waiting = add $waiting 1}}
	{{- else if and .Via (not $narrow)}}{{$status = print $status " by " .Via}}{{end}}
	{{- if .Kind}}{{$text = after $text "] "}}{{end}}
	{{- if $narrow}}{{$t.Add .ID (agent .To) $status (in "dim" (ago .MadeAt)) $text}}
	{{- else}}{{$t.Add .ID (agent .To) $kind $status (in "dim" (ago .MadeAt)) $text}}{{end}}
{{- else}}no messages
{{end}}{{if .Messages}}{{$t}}{{end}}
{{- if $waiting}}{{lines to.Wrap (print $waiting " wait for hooks: none of the agent's present session has come yet; ` + doctor.HooksRemedy + `")}}
{{end}}{{end}}

{{- define "reminders" -}}
{{with .Reminders}}{{$t := cut "ID" "AGENT" "WHEN" "TEXT"}}
{{- range .}}
	{{- $when := .State}}
	{{- if $when}}
	{{- else if .DueAt}}{{$when = print "in " (until .DueAt)}}
	{{- else if and .Soft .Hard}}{{$when = print "soft " (seconds .Soft) ", hard " (seconds .Hard)}}
	{{- else if .Soft}}{{$when = print "soft " (seconds .Soft)}}
	{{- else}}{{$when = print "hard " (seconds .Hard)}}{{end}}
	{{- $t.Add .ID .Agent $when (text .Text)}}
{{- end}}{{$t}}{{else}}no reminders
{{end}}{{end}}

{{- define "handoffs" -}}
{{with .Handoffs}}{{$t := wrap "ID" "AGENT" "STATE" "WAY" "CHANGED" "FILE"}}
{{- range .}}
	{{- $state := .State}}{{$colour := ""}}{{$file := .Path}}
	{{- if .Reason}}{{$state = print $state ": " .Reason}}
	{{- else if .Waiting}}{{$state = print $state ", waiting: " .Waiting}}{{end}}
	{{- if eq .State "failed"}}{{$colour = "red"}}{{end}}
	{{- if and .Auto (not $file)}}{{$file = "(made from the transcript)"}}{{end}}
	{{- $t.Add .ID (agent .Agent) (in $colour $state) (in "dim" .Way) (in "dim" (ago .ChangedAt)) $file}}
{{- end}}{{$t}}{{else}}no handoffs
{{end}}{{end}}

{{- define "documents" -}}
{{with .Documents}}{{$t := table "CHANNEL" "STATUS" "TYPE" "AGENT" "FOR" "WRITTEN" "ID"}}
{{- range .}}
	{{- $colour := "dim"}}{{$id := .ID}}
	{{- if eq .Status "active"}}{{$colour = "yellow"}}{{end}}
	{{- if .Current}}{{$id = print $id " (current)"}}{{end}}
	{{- $t.Add .Channel (in $colour (print .Status)) (print .Type) (fit (or .Agent "–") 20) (fit (or .ClaimedBy "–") 20) (in "dim" (ago .CreatedAt)) $id}}
{{- end}}{{$t}}{{else}}no handoff documents
{{end}}{{end}}

{{- define "session" -}}
{{$t := wrap "agent" .ID}}
{{- range slice (fields .) 1}}{{$t.Add (index . 0) (index . 1)}}{{end}}{{$t}}{{end}}

{{- define "bugreport" -}}
{{.version}}{{if .kernel}}
kernel {{.kernel}}{{end}}
sm-hook: {{if .small}}of the same version{{else}}none of this version beside sm{{end}}

{{range grouped .findings}}{{.Status}}	{{.Check}}: {{or .Cause .Text}}
{{end}}
{{if .broken}}The configuration has an error; all else is without it.
{{else}}Settings other than the default:{{range $key, $value := .settings}}{{$type := printf "%T" $value}}
  {{$key}}: {{if or (eq $type "bool" "int" "int64" "float64" "time.Duration")}}{{$value}}{{else}}…{{end}}{{else}} none{{end}}
{{end}}{{$codex := 0}}{{range .sessions}}{{if eq .Client "codex"}}{{$codex = add $codex 1}}{{end}}{{end}}
Sessions of the observer: {{len .sessions}}, of these of Codex: {{$codex}}
Its counts other than 0, at {{.now}} seconds since 1970:{{range .metrics}}
{{.}}{{else}} none{{end}}

Read this before you paste it. No text, name, address or path of yours should be in it.
{{end}}

{{- define "findings" -}}
{{$t := wrap "" "CHECK" "FINDING"}}{{$notes := 0}}{{$broken := 0}}
{{- range $status := list "ok" "note" "broken"}}{{range grouped $.Findings}}{{if eq (print .Status) $status}}
	{{- $colour := ""}}
	{{- if eq $status "note"}}{{$colour = "yellow"}}{{$notes = add $notes 1}}{{end}}
	{{- if eq $status "broken"}}{{$colour = "red"}}{{$broken = add $broken 1}}{{end}}
	{{- $t.Add (in $colour $status) .Check .Text}}
	{{- if .Remedy}}{{$t.Add "" "" (in "dim" (print "→ " .Remedy))}}{{end}}
{{- end}}{{end}}{{end}}{{$t}}
{{- if or $notes $broken}}{{$broken}} broken, {{counted $notes "note"}}{{else}}all works{{end}}
{{end}}
`
