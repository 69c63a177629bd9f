package view

// past are the templates for the results of reading past transcripts.
const past = `
{{- define "strange"}}{{if eq . 1}}1 file is no transcript and is left out
{{else if .}}{{.}} files are no transcripts and are left out
{{end}}{{end}}

{{- define "compactions"}}{{counted .Total "compaction"}}{{if .Total}} ({{causes .}}){{end}}{{end}}

{{- define "days"}}{{if .From}}, {{.From.Local.Format "2006-01-02"}} to {{.To.Local.Format "2006-01-02"}}{{end}}{{end}}

{{- define "client"}}{{if eq . "claude"}}Claude Code{{else if eq . "codex"}}Codex{{else}}{{text .}}{{end}}{{end}}

{{- define "recent"}}{{with .Costs.Compactions}}{{if .Count}}Last 30 days: {{counted .Count "compaction"}}
	{{- if .All}}, {{tokens .All}} tokens read again, most in {{with index $.ProjectCosts 0}}{{short (or .Name "(unknown)") 30}}{{end}}{{end}}; {{$.Program}} report shows more
{{end}}{{end}}{{end}}

{{- define "lead"}}{{if .Compactions.Total}}{{counted .Compactions.Total "compaction"}}{{with .Spent}}
	{{- if .Tokens}} cost {{tokens .Tokens}} tokens read again{{with .USD}} (estimated {{printf "$%.2f" (value .)}}){{end}}
		{{- if .Seconds}} and {{lasted .Seconds}}{{end}}.
	{{- else}}{{if .Seconds}} took {{lasted .Seconds}}{{end}}{{with $.Costs.Compactions}}{{if and .Reads (not .AllRereads)}}; no file was read again after {{if eq $.Compactions.Total 1}}it{{else}}them{{end}}{{end}}{{end}}.
{{- end}}{{end}}{{end}}{{end}}

{{- define "sizes"}}{{if .Pre.Known -}}
{{if eq .Compactions.Total 1}}It{{else if eq .Pre.Known 1}}The one not made by hand{{else}}Those not made by hand{{end}} came at {{tokens .Pre.Median}} tokens
	{{- if gt .Pre.Known 1}} (p10{{to.Glyphs.Dash}}p90 {{span "tokens" .Pre.P10 .Pre.P90}}){{end}}.
	{{- if .Post.Known}} After {{if eq .Compactions.Total 1}}it{{else}}a compaction{{end}} {{tokens .Post.Median}} were left.{{end}}
{{- end}}{{end}}

{{- define "advice of a report"}}{{if .Advice}}
	{{- if eq .Advice "sm install"}}No agent had a notice before these compactions: sm install adds notices.
	{{- else if eq .Advice "sm handoff"}}Hand over before compactions (sm handoff, or handoff.auto_rotate in the configuration): that would have saved about {{tokens .Saved.ByHandoffs}} of the tokens that were read again.
	{{- else if eq .Advice "sm report --files"}}{{with $.RereadFiles}}{{counted (len .) "file"}} account{{if eq (len .) 1}}s{{end}} for {{tokens $.Saved.ByFiles}} of the tokens that were read again: put what is needed of {{if eq (len .) 1}}it{{else}}them{{end}} into CLAUDE.md, AGENTS.md or a handoff document; {{if (index . 0).Name}}the list is above{{else}}sm report --files names {{if eq (len .) 1}}it{{else}}them{{end}}{{end}}.{{end}}
	{{- else}}sm replay --grid shows whether other thresholds would announce compactions in time.
{{- end}}{{end}}{{end}}

{{- define "last"}}{{with render "advice of a report" .}}
{{paragraph .}}
{{end}}{{end}}

{{- define "report"}}{{template "results" .}}{{if .Sessions}}
{{paragraph "--verbose shows projects, models, months, and how sizes and turns are spread"}}
{{template "last" .}}{{end}}{{end}}

{{- define "report --verbose"}}{{template "results" .}}{{if .Sessions}}{{template "details" .}}{{template "last" .}}{{end}}{{end}}

{{- define "results"}}{{if not .Sessions}}no sessions found
{{template "strange" .Strange}}{{else -}}
{{with render "lead" .}}{{paragraph .}}
{{end}}
	{{- range .Compacted}}{{paragraph (print (render "client" .Name) ": " (render "lead" .) " " (render "sizes" .))}}
{{else}}{{with render "sizes" .}}{{paragraph .}}
{{end}}{{end}}
	{{- /**/ -}}
{{counted .Sessions "session"}}, {{counted .Turns "turn"}}{{template "days" .}}
{{template "compactions" .Compactions}}{{if .Compactions.Total}}, {{counted .Storms "storm"}}{{end}}
{{template "strange" .Strange}}
{{- if or .Compactions.Total .Costs.Handoffs.Count .Costs.Clears.Count}}
{{template "costs" .}}{{end}}
{{- end}}{{end}}

{{- define "costs"}}{{$t := table "AFTER" " COUNT" " TOKENS READ AGAIN" " TIME" " DROPPED"}}
	{{- template "cost" list $t "compactions" .Costs.Compactions}}
	{{- template "cost" list $t "handoffs" .Costs.Handoffs}}
	{{- template "cost" list $t "/clear" .Costs.Clears}}
	{{- range .Compacted}}{{template "cost" list $t (print "of " (render "client" .Name)) .Costs.Compactions}}{{end}}
	{{- if gt (len .ProjectCosts) 1}}{{range $i, $p := .ProjectCosts}}{{if lt $i 12}}
		{{- template "cost" list $t (print "in " (short (name (or .Name "(unknown)")) 20)) .Compactions}}
	{{- end}}{{end}}{{end}}{{$t}}
	{{- with .RereadFiles}}{{if (index . 0).Name}}
{{paragraph "Most often read again after compactions: put what is needed of these files into CLAUDE.md, AGENTS.md or a handoff document"}}
{{range .}}{{$times := "times,"}}{{if eq .Rereads 1}}{{$times = "time,"}}{{end}}{{printf "  %4d %-6s %5s tokens  %s" .Rereads $times (tokens .Tokens) (short (print .Project ": " .Name) 50)}}
{{end}}{{end}}{{end}}{{end}}

{{- define "cost"}}{{$t := index . 0}}{{$name := index . 1}}{{with index . 2}}{{if .Count}}
	{{- $again := figure .All (tokens .All)}}{{if .Reads}}{{$again = tokens .All}}{{end}}
	{{- $t.Add $name (count .Count) $again (figure .Seconds (lasted .Seconds)) (figure .Dropped (tokens .Dropped))}}
{{- end}}{{end}}{{end}}

{{- define "rows"}}{{$header := index . 0}}{{$all := index . 1}}{{$from := 0}}
{{$t := table $header " SESSIONS" " TURNS" " AUTO" " MANUAL" " IDLE" " UNKNOWN"}}
	{{- if and (eq $header "MONTH") (gt (len $all) 12)}}{{$from = add (len $all) -12}}{{end}}
	{{- range $i, $_ := $all}}{{if and (ge $i $from) (lt $i (add $from 12))}}{{$name := or .Name "(unknown)"}}
		{{- if eq $header "MODEL"}}{{$name = trim $name "claude-"}}{{end}}
		{{- $c := .Compactions}}
		{{- $t.Add (name $name) (count .Sessions) (count .Turns) (count $c.Auto) (count $c.Manual) (count $c.Idle) (count $c.Unknown)}}
	{{- end}}{{end}}{{$t}}
	{{- if gt (len $all) 12}}and {{add (len $all) -12}} more; --json has all
{{end}}{{end}}

{{- define "details"}}
	{{- template "rows" list "PROJECT" .Projects}}
	{{- template "rows" list "MODEL" .Models}}
	{{- template "rows" list "MONTH" .Months}}
	{{- if not .Compactions.Total}}
No compaction in these transcripts, so there are no sizes to show.
{{else}}
	{{- range .Compacted}}{{template "spreads" list . (print ", " (render "client" .Name))}}{{else}}{{template "spreads" list . ""}}{{end}}
	{{- $title := "\nForecasts before automatic compactions, as they would have been made then\n"}}
	{{- range .Forecast}}{{if .Forecasts}}{{$title}}{{$title = ""}}
		{{- printf "  With %d replies left: %s off in the median, %s within the range, of %d\n" .Left (percent .Error) (percent .Within) .Forecasts}}
	{{- end}}{{end}}
{{- end}}{{end}}

{{- define "spreads"}}{{$of := index . 1}}{{with index . 0}}
	{{- template "spread" list "tokens" .Pre "Context size at automatic compactions" $of}}
	{{- template "spread" list "tokens" .ManualPre "Context size at compactions by hand" $of}}
	{{- template "spread" list "tokens" .IdlePre "Context size at compactions of idle conversations" $of}}
	{{- template "spread" list "tokens" .Post "First reading after a compaction, in tokens" $of}}
	{{- template "spread" list "percent" .PostPercentage "First reading after a compaction, in percent of the window" $of}}
	{{- template "spread" list "turns" .TurnsPerCycle "Turns in a cycle that a compaction ended" $of}}
	{{- with .Threshold}}
Compaction threshold{{$of}}
{{printf "  %-36s " (print "Typical (p10" to.Glyphs.Dash "p90)")}}{{template "range" .Typical}}
{{printf "  %-36s " "Most common range"}}{{template "range" .MostCommon}}
{{printf "  %-36s " (print "Size after compaction (p10" to.Glyphs.Dash "p90)")}}{{template "range" .After}}
{{range .Sessions}}{{printf "  %-36s " (print "Session with " (counted .Compactions "compaction"))}}at {{span "tokens" .MinPre .MaxPre}} tokens
{{end}}{{end}}{{end}}{{end}}

{{- define "spread"}}{{$unit := index . 0}}{{with index . 1}}{{if .Known}}
{{index $ 2}}{{index $ 3}}
{{histogram $unit .Histogram}}  median {{span $unit .Median .Median}}; p10{{to.Glyphs.Dash}}p90 {{span $unit .P10 .P90}}, all within {{span $unit .Min .Max}}
	{{- if .Unknown}}; {{.Unknown}} unknown{{end}}
{{end}}{{end}}{{end}}

{{- define "range"}}{{with .}}{{span "tokens" .From .To}} tokens{{else}}{{to.Glyphs.None}}{{end}}{{end}}

{{- define "replay"}}{{if .}}{{$t := table "TIME" "SESSION" "CYCLE" "WHAT" "TEXT"}}
	{{- range .}}{{$at := to.Glyphs.None}}{{$what := "compaction"}}{{$colour := ""}}{{$text := .Trigger}}
		{{- if .At}}{{$at = .At.Local.Format "2006-01-02 15:04:05"}}{{end}}
		{{- if .PreTokens}}{{$text = print .Trigger ", " (tokens .PreTokens) " tokens"}}{{end}}
		{{- if eq .Event "notice"}}{{$what = .Kind}}{{$text = .Text}}
			{{- if eq .Kind "warning"}}{{$colour = "orange"}}{{else if eq .Kind "critical"}}{{$colour = "red"}}{{end}}
		{{- else if eq .Trigger "idle"}}{{$what = "compaction, idle"}}
		{{- else if not (value .Warned)}}{{$what = "compaction, unwarned"}}{{$colour = "red"}}{{end}}
		{{- $t.Add (in "dim" $at) (fit (printf "%.8s" .Session) 8) .Cycle (in $colour $what) $text}}
	{{- end}}{{$t}}
{{- end}}{{summary .}}{{end}}

{{- define "grid"}}{{template "verdict and sizes" .}}
	{{- if .Configuration}}
{{template "configuration" .}}
	{{- else}}
--verbose shows what was tried, and how it compares
{{end}}{{end}}

{{- define "left out"}}{{if or .Active .Unseen}}Left out: {{/**/ -}}
	{{- if .Active}}{{counted .Active "cycle"}} that may go on, as {{if eq .Active 1}}its session was{{else}}their sessions were{{end}} active in the last 10 minutes{{end}}
	{{- if and .Active .Unseen}}; {{end}}
	{{- if .Unseen}}{{counted .Unseen "compaction"}} at the very start of a transcript, which has nothing of the time before{{end}}.
{{- end}}{{end}}

{{- define "verdict and sizes"}}
	{{- paragraph (render "verdict" .)}}
{{counted .Sessions "session"}}, {{counted .Cycles "cycle"}}
{{template "compactions" .Compactions}}
{{with render "left out" .}}{{paragraph .}}
{{end}}{{template "strange" .Strange}}{{end}}

{{- define "grid --verbose"}}{{template "verdict and sizes" .}}
	{{- $t := table " WARN" " CRIT" " WARNED" " TIMELY" " USED" " TURNS" " WORST" " MINUTES" " WORST" " VAIN" " MEASURE"}}
With {{counted .Current.Compactions "compaction"}}
	{{- if .Chosen}}: each warning with its best critical
notice, then what is in force and the default
{{range choices .}}{{template "candidate" list $t .}}{{end}}
		{{- if not (.Current.Same .Chosen)}}{{template "candidate" list $t .Current}}{{end}}
		{{- if not (or (.Default.Same .Chosen) (.Default.Same .Current))}}{{template "candidate" list $t .Default}}{{end}}
	{{- else}}
{{template "candidate" list $t .Current}}
	{{- end}}{{$t}}
Forecast, by turns left: median error, truth within its range, forecasts made
	{{- $none := true}}
	{{- range .Forecast}}{{if .Error}}{{$none = false}}
  {{.Left}} left: {{percent .Error}}, {{percent .Within}}, {{.Known}} of {{.Forecasts}}
	{{- end}}{{end}}
	{{- if $none}}
  {{to.Glyphs.None}} (it needs three automatic compactions of a model){{end}}
{{template "advice" .}}{{end}}

{{- define "candidate"}}{{$t := index . 0}}{{with index . 1}}
	{{- $t.Add (threshold .Warning .Unit) (threshold .Critical .Unit) (percent (warned .Figures)) (percent .Coverage) (percent .Used) (tenths .Turns.Median) (tenths .Turns.Worst) (tenths .Minutes.Median) (tenths .Minutes.Worst) (percent .VainShare) (printf "%.2f" .Measure)}}
{{- end}}{{end}}

{{- define "name"}}{{threshold .Warning .Unit}} and {{threshold .Critical .Unit}}{{end}}

{{- define "pair"}}{{if and (eq .Unit "percent") .Warning .Critical}}{{.Warning}} / {{.Critical}} %
	{{- else}}{{threshold .Warning .Unit}} / {{threshold .Critical .Unit}}{{end}}{{end}}

{{- define "in time"}}{{.Timely}} of {{counted .Compactions "compaction"}} {{if eq .Compactions 1}}was{{else}}were{{end}} announced in time{{end}}

{{- define "verdict"}}
	{{- if eq .Advice "change"}}Change to {{template "pair" .Chosen}}: {{template "in time" .Chosen}}, {{.Current.Timely}} with {{template "pair" .Current}}.
		{{- if le .Chosen.Timely .Current.Timely}} Notices come at {{percent .Chosen.Used}} of the size at the compaction instead of {{percent .Current.Used}}
			{{- if lt .Chosen.VainShare .Current.VainShare}}, and in {{percent .Chosen.VainShare}} of the cycles without one instead of {{percent .Current.VainShare}}{{end}}.
		{{- end}}
	{{- else if and (eq .Advice "keep") (lt .Current.Coverage 0.67)}}Only {{template "in time" .Current}}{{with timeliest .}}
		{{- if gt .Timely $.Current.Timely}}. Other thresholds announce up to {{.Timely}} ({{template "pair" .}}), but at contexts so small, or so often in vain, that they are no better.
		{{- else}}, and no threshold announces more, because {{if and .Turns.Median (lt (value .Turns.Median) 2.0)}}turns are long: from {{threshold .Warning .Unit}} {{if eq .Unit "percent"}}of the window{{else}}tokens{{end}} on, half of the contexts were compacted before a second prompt
			{{- else}}contexts fill up too soon after any notice{{end}}.
		{{- end}}{{end}} Keep {{template "pair" .Current}}.
	{{- else}}Keep {{template "pair" .Current}}: {{/**/ -}}
		{{- if eq .Advice "none"}}no threshold announces these compactions in time.
		{{- else if eq .Advice "keep"}}{{template "in time" .Current}}.
		{{- else if .Current.Compactions}}{{template "in time" .Current}}, too few to choose others by.
		{{- else}}there is no compaction to choose others by.{{end}}
	{{- end}}
{{- end}}

{{- define "advice"}}
	{{- if eq .Advice "too_few"}}
Nothing is recommended: that needs {{enough}} compactions.
{{else if eq .Advice "none"}}
Nothing is recommended: contexts fill up too soon after any notice.
{{else}}
Chosen: {{template "name" .Chosen}}, with a measure of {{printf "%.2f" .Chosen.Measure}} and a standard error of {{printf "%.2f" .Chosen.StandardError}}
Compared with: {{template "name" .Current}}, with a measure of {{printf "%.2f" .Current.Measure}}
	{{- if .Configuration}}

{{template "configuration" .}}
	{{- else if eq .Advice "change"}}
The configuration has it already.
{{else}}
{{end}}{{end}}{{end}}

{{- define "configuration"}}To use it, have these lines under context_monitor: in the configuration, beside
the others there:

{{range .Configuration}}{{.}}
{{end}}{{end}}
`
