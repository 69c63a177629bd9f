package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"sm/dashboards/screen"
	"sm/dashboards/screen/plain"
	"sm/observer/api"
	"sm/transcript/wording"
)

// tame makes a text from elsewhere fit to be shown.
func tame(s string) string { return plain.Visible(s) }

// short formats a number of tokens in few characters: 950, 9.5k, 104k, 1M,
// 1.2M.
func short(n int64) string {
	switch {
	case n < 0:
		return "−" + short(-n)
	case n >= 1000 && n < 9_950:
		return screen.Tenths(float64(n)/1e3) + "k"
	}
	return screen.Tokens(n)
}

// many counts things: 1 reply, 2 replies.
func many(n any, thing string) string {
	count := wording.Thousands(n)
	if count == "1" {
		return "1 " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "y"); ok {
		thing = stem + "ie"
	}
	return count + " " + thing + "s"
}

// Hundredths formats a share in percent, without the sign.
func Hundredths(share float64) string { return fmt.Sprintf("%.0f", 100*share) }

// number formats a coordinate, rounded to multiples of 1/parts.
func number(x, parts float64) string {
	return strconv.FormatFloat(math.Round(x*parts)/parts, 'f', -1, 64)
}

func percent(x float64) string { return number(100*x, 100) + "%" }

func rest(x float64) string { return percent(1 - x) }

// Work formats a duration of work, in seconds, in one unit.
func Work(seconds float64) string {
	switch d := time.Duration(max(60, seconds) * float64(time.Second)); {
	case d < 100*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return screen.Tenths(d.Hours()) + " h"
	default:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	}
}

// Doing returns what an agent does. All views use the same words.
func Doing(s *api.Session) string {
	switch {
	case s.IsCompacting:
		return "compacting"
	case s.State == "busy" || s.State == "active":
		return "at work"
	}
	return words(s.State)
}

// words replaces the underscores of a name by spaces.
func words(s string) string { return strings.ReplaceAll(s, "_", " ") }

// stamp formats a time for programs.
func stamp(at int64) string { return time.Unix(at, 0).UTC().Format(time.RFC3339) }

// clock formats a time for people.
func clock(at int64, zone *time.Location) string {
	return time.Unix(at, 0).In(zone).Format("Jan 2, 15:04:05")
}
