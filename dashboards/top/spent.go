package top

import (
	"fmt"
	"strings"
	"time"

	"sm/dashboards/screen"
	"sm/observer/api"
)

// spentLine returns today's usage and the rate limits, as far as they are known,
// in as many words as fit into width cells.
func spentLine(all *api.Sessions, now time.Time, width int) string {
	line := ""
	for words := 3; words >= 0; words-- {
		line = spentText(all, now, words)
		if screen.Cells(line) <= width {
			break
		}
	}
	return line
}

// spentText leaves out words: below 3 when limits are reset, below 2 since when
// the cost is known, below 1 the word limit.
func spentText(all *api.Sessions, now time.Time, words int) string {
	var parts []string
	if today := all.Today; today.Tokens > 0 {
		tokens := screen.Tokens(int64(min(today.Tokens, 1<<62)))
		part := dim("today ") + tokens + dim(" tokens")
		if today.CostUSD != nil {
			part += " " + dollars(*today.CostUSD)
			if today.CostSince != nil && words >= 2 {
				part += dim(" since " + today.CostSince.Local().Format("15:04"))
			}
		}
		parts = append(parts, part)
	}

	add := func(name string, l *api.RateLimit) {
		if l == nil {
			return
		}
		if words >= 1 {
			name += " limit"
		}
		part := dim(name+" ") + styled(
			limitColour(l.UsedRatio),
			fmt.Sprintf("%.0f%%", 100*l.UsedRatio),
		)
		if words >= 3 {
			part += dim(" until " + clockText(l.ResetsAt, now))
		}
		parts = append(parts, part)
	}
	all.RateLimits.Each(add)
	return strings.Join(parts, "  ")
}

// limitColour warns before a limit stops all agents of an account.
func limitColour(used float64) string {
	switch {
	case used >= 0.95:
		return screen.Red
	case used >= 0.8:
		return screen.Orange
	}
	return ""
}

// clockText formats a time of the next days, without the day within 24 hours.
func clockText(at, now time.Time) string {
	if at.Sub(now) < 24*time.Hour {
		return at.Local().Format("15:04")
	}
	return at.Local().Format("Mon 15:04")
}

// Spent returns today's usage and the rate limits in one line; "" if nothing is
// known.
func Spent(all *api.Sessions, now time.Time, width int, colour bool) string {
	return fit(spentLine(all, now, width), width, colour)
}
