package view

// lists are the templates of what the observer and the doctor answer.
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
{{- if $waiting}}{{lines to.Wrap (print $waiting " wait for hooks: none of the agent's present session has come yet; " hooksRemedy)}}
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

{{- define "findings" -}}
{{$t := wrap "" "CHECK" "FINDING"}}
{{- range .Findings}}
	{{- $colour := ""}}
	{{- if eq .Status "note"}}{{$colour = "yellow"}}{{else if eq .Status "broken"}}{{$colour = "red"}}{{end}}
	{{- $t.Add (in $colour (print .Status)) .Check .Text}}
	{{- if .Remedy}}{{$t.Add "" "" (in "dim" (print "→ " .Remedy))}}{{end}}
{{- end}}{{$t}}{{end}}
`
