package top

import (
	"fmt"
	"strings"
	"time"

	"sm/dashboards/screen"
	"sm/observer/api"
)

// spentLine is what was used today and how far the account has used its limits, in at most width cells as far as that goes.
// What no status line has told is not there; nil for nothing at all.
func spentLine(all *api.Sessions, now time.Time, width int) (line []span) {
	for _, words := range []int{3, 2, 1, 0} {
		if line = spentSpans(all, now, words > 2, words > 1, words == 0); spanCells(line) <= width {
			break
		}
	}
	return line
}

func spentSpans(all *api.Sessions, now time.Time, until, from, short bool) (line []span) {
	var parts [][]span
	if all.Today.Tokens > 0 {
		parts = append(parts, []span{{"today ", screen.Dim}, {screen.Tokens(int64(min(all.Today.Tokens, 1<<62))), ""}, {" tokens", screen.Dim}})
		if usd := all.Today.CostUSD; usd != nil {
			parts[0] = append(parts[0], span{" " + dollars(*usd), ""})
			if since := all.Today.CostSince; since != nil && from {
				parts[0] = append(parts[0], span{" since " + since.Local().Format("15:04"), screen.Dim})
			}
		}
	}
	type limit struct {
		name  string
		limit *api.RateLimit
	}
	limits := []limit{{"5 h limit ", all.RateLimits.FiveHour}, {"7 d limit ", all.RateLimits.SevenDay}}
	if codex := all.RateLimits.Codex; codex != nil {
		limits = append(limits, limit{"Codex 5 h limit ", codex.FiveHour}, limit{"Codex 7 d limit ", codex.SevenDay})
	}
	for _, l := range limits {
		if l.limit == nil {
			continue
		}
		if short {
			l.name = strings.Replace(l.name, " limit", "", 1)
		}
		part := []span{{l.name, screen.Dim}, {fmt.Sprintf("%.0f%%", 100*l.limit.UsedRatio), limitColour(l.limit.UsedRatio)}}
		if until {
			part = append(part, span{" until " + clockText(l.limit.ResetsAt, now), screen.Dim})
		}
		parts = append(parts, part)
	}
	for i, part := range parts {
		if i > 0 {
			line = append(line, span{"  ", ""})
		}
		line = append(line, part...)
	}
	return line
}

// limitColour warns before a limit is reached, which stops all agents of an account.
func limitColour(used float64) string {
	switch {
	case used >= 0.95:
		return screen.Red
	case used >= 0.8:
		return screen.Orange
	}
	return ""
}

// clockText is a time of the next days: the hour alone within one day.
func clockText(at, now time.Time) string {
	if at.Sub(now) < 24*time.Hour {
		return at.Local().Format("15:04")
	}
	return at.Local().Format("Mon 15:04")
}

// Spent is the line of what was used today, for a command that prints it; "" where nothing is known.
func Spent(all *api.Sessions, now time.Time, width int, colour bool) string {
	var b strings.Builder
	drawSpans(&b, fitSpans(spentLine(all, now, width), width), colour)
	return b.String()
}
