package top

import (
	"strings"
	"time"

	"sm/dashboards/screen"
	"sm/observer/api"
)

// spentText is for fitParts. The colours warn before a limit stops all agents
// of an account.
const spentText = `{{define "spent"}}{{with .Tokens}}0   {{dim "today "}}{{tokens .}}{{dim " tokens"}}
{{with $.Today.CostUSD}}0  {{dollars .}}
{{with $.Today.CostSince}}8 {{dim " since " (.Local.Format "15:04")}}
{{end}}{{end}}{{with $.Today.EstimatedUSD}}0  {{if $.Today.Unpriced}}≥{{else}}≈{{end}}{{dollars .}}{{dim " est."}}
{{end}}{{end}}{{range .Limits}}{{if .RateLimit}}{{.Rank}}   {{dim .Name}}
7 {{dim " limit"}}
{{.Rank}}  {{$used := print (hundredths .UsedRatio) "%"}}{{if ge .UsedRatio 0.95}}{{red $used}}{{else if ge .UsedRatio 0.8}}{{orange $used}}{{else}}{{$used}}{{end}}
9 {{dim " until " (until .ResetsAt)}}
{{end}}{{end}}{{end}}`

// spentLine returns today's usage and the rate limits, if known, in as many
// words as fit into width cells.
func spentLine(all *api.Sessions, now time.Time, width int) string {
	type limit struct {
		Rank int
		Name string
		*api.RateLimit
	}
	r := &all.RateLimits
	limits := []limit{{0, "5 h", r.FiveHour}, {0, "7 d", r.SevenDay}}
	if r.Codex != nil {
		limits = append(
			limits,
			limit{5, "Codex 5 h", r.Codex.FiveHour},
			limit{6, "Codex 7 d", r.Codex.SevenDay},
		)
	}
	text := screen.Execute(templates(spentText, now), "spent", map[string]any{
		"Limits": limits,
		"Today":  all.Today,
		"Tokens": int64(min(all.Today.Tokens, 1<<62)),
	})
	return strings.TrimPrefix(fitParts(text, width+2), "  ")
}

// Spent returns today's usage and the rate limits in one line; "" if nothing is
// known.
func Spent(all *api.Sessions, now time.Time, width int, colour bool) string {
	return fit(spentLine(all, now, width), width, colour)
}
