package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"sm/dashboards/urgency"
	"sm/observer/api"
)

// longest bounds what is shown of a text that somebody else has made up, in characters.
const longest = 200

// tame makes a text fit to be shown: characters that cannot be seen, or that turn the
// direction of what stands around them, become visible ones; one that is too long is cut.
func tame(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > longest {
			b.WriteRune('…')
			break
		}
		switch {
		case r == ' ':
		case !unicode.IsGraphic(r), unicode.Is(unicode.Zs, r), unicode.Is(unicode.Cf, r):
			r = unicode.ReplacementChar
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Short is a figure of tokens in few characters: 950, 9.5k, 104k, 1M, 1.2M.
func Short(n int64) string {
	switch {
	case n < 0:
		return "−" + Short(-n)
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 9_950:
		return strings.TrimSuffix(strconv.FormatFloat(float64(n)/1e3, 'f', 1, 64), ".0") + "k"
	case n < 999_500:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 0, 64) + "k"
	}
	return strings.TrimSuffix(strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64), ".0") + "M"
}

// Thousands writes a figure with its thousands apart.
func Thousands(n int64) string {
	if n < 0 {
		return "−" + Thousands(-n)
	}
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// number writes a coordinate.
func number(x float64) string {
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64)
}

func percent(x float64) string { return number(100*x) + "%" }

// replies is a forecast in few words.
func replies(r *api.Range) string {
	if r == nil {
		return "–"
	}
	switch urgency.Replies(r.Likely) {
	case 0:
		return "due now"
	case 1:
		return "≈ 1 reply"
	case urgency.ManyReplies:
		return urgency.ReplyCount(r.Likely) + " replies"
	}
	return "≈ " + urgency.ReplyCount(r.Likely) + " replies"
}

// turns is the same in turns.
func turns(r *api.Range) string {
	if r.Likely < 1.5 {
		return "in this turn or the next"
	}
	return fmt.Sprintf("≈ %.0f turns", r.Likely)
}

// between are the bounds of a forecast.
func between(r *api.Range) string {
	if r == nil {
		return ""
	}
	if n := urgency.Replies(r.Likely); n == 0 || n == urgency.ManyReplies {
		return ""
	}
	return urgency.ReplyCount(r.Low) + "–" + urgency.ReplyCount(r.High)
}

// work is a time of work in few words.
func work(seconds float64) string {
	switch d := time.Duration(seconds * float64(time.Second)); {
	case d < time.Minute:
		return "under a minute"
	case d < 100*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	default:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	}
}

// triggers counts compactions by what made the client compact, "" for none.
func triggers(c api.Compactions) string {
	var parts []string
	add := func(n int, name string) {
		if n > 0 {
			parts = append(parts, fmt.Sprint(n, " ", name))
		}
	}
	add(c.Auto, "auto")
	add(c.Manual, "manual")
	add(c.Unknown, "unknown")
	add(c.Idle, "idle")
	return strings.Join(parts, " · ")
}

// counted writes a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprint(n, " ", thing, "s")
}

// words is a name with underscores as people write it.
func words(s string) string { return strings.ReplaceAll(s, "_", " ") }

// stamp is a time as machines read it.
func stamp(at int64) string { return time.Unix(at, 0).UTC().Format(time.RFC3339) }

// clock is a time as people read it.
func clock(at int64, zone *time.Location) string {
	return time.Unix(at, 0).In(zone).Format("Jan 2, 15:04:05")
}
